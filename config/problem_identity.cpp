#include "config/problem_identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>

#include "config/hash.hpp"

namespace kernsmith {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

class canonical_writer {
 public:
  explicit canonical_writer(const problem& p) : p_(p) {}

  std::string run() {
    put("kernsmith.problem/1");
    axes();
    for (const tensor_declaration& t : p_.tensors) tensor(t);
    for (const statement& s : p_.statements) definition(s);
    if (p_.reference) source("reference", *p_.reference);
    for (const baseline_spec& b : p_.baselines) {
      put("baseline"), put(b.name), put(b.builtin);
      if (b.source) source("source", *b.source);
    }
    for (const source_file& s : p_.seed_kernels) put(s.name), source("seed", s);
    if (p_.module) module(*p_.module);
    workloads();
    compare();
    put("precision"), put(name_of(p_.precision.lowest)), put(p_.precision.error_multiple);
    if (!p_.libraries.empty()) put("libraries");
    for (const std::string& library : p_.libraries) put(library);
    put("objective"), put_int(static_cast<int>(p_.objective));
    if (p_.replay == replay_mode::graph) put("replay"), put("graph");
    return std::move(text_);
  }

 private:
  // Strings are length-prefixed, so that no content can pass for structure.
  void put(std::string_view s) { text_ += fmt::format("{}:{},", s.size(), s); }
  void put(const char* s) { put(std::string_view(s)); }
  void put(double v) { text_ += fmt::format("d{:x},", std::bit_cast<std::uint64_t>(v)); }
  void put_int(std::int64_t v) { text_ += fmt::format("{},", v); }
  void put(const dim& d) {
    if (d.axis >= 0)
      put("axis"), put(p_.axes[static_cast<std::size_t>(d.axis)].name);
    else
      put("extent"), put_int(d.constant);
  }

  /// Names only, sorted: the extents that count are the workloads', and no order among axes means anything.
  void axes() {
    std::vector<std::string> names;
    for (const axis& a : p_.axes) names.push_back(a.name);
    std::sort(names.begin(), names.end());
    put("axes");
    for (const std::string& name : names) put(name);
  }

  void tensor(const tensor_declaration& t) {
    put("tensor"), put(t.name), put_int(static_cast<int>(t.role)), put(name_of(t.type)), put_int(t.type_declared ? 1 : 0);
    for (const dim& d : t.shape) put(d);
    if (t.pad) put("pad"), put(*t.pad);
    if (t.role == tensor_role::input) init(t, t.init);
  }

  void init(const tensor_declaration& t, const init_spec& spec) {
    put("init");
    if (spec.is_default && !is_float(t.type)) return put("default");
    put_int(static_cast<int>(spec.which));
    switch (spec.which) {
      case init_spec::kind::normal:
        put(spec.mean), put(spec.std);
        break;
      case init_spec::kind::uniform:
      case init_spec::kind::integers:
        put(spec.lo), put(spec.hi);
        break;
      case init_spec::kind::zipf:
        put(spec.alpha), put_int(spec.n);
        break;
      case init_spec::kind::constant:
        put(spec.value);
        break;
      case init_spec::kind::arange:
        put(spec.start), put(spec.step);
        break;
      case init_spec::kind::sorted:
        init(t, spec.of.front());
        break;
      case init_spec::kind::file:
        put(file_hash(spec.file));
        break;
    }
  }

  static std::string file_hash(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    std::string hashes;
    std::string chunk(chunk_bytes, '\0');
    while (stream) {
      stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
      hashes += content_hash(std::string_view(chunk.data(), static_cast<std::size_t>(stream.gcount())));
    }
    return content_hash(hashes);
  }

  void definition(const statement& s) {
    put("statement"), put(p_.tensors[static_cast<std::size_t>(s.target)].name);
    for (const int variable : s.target_indices) put_int(variable);
    put("variables");  // by number: index names carry no meaning
    for (const index_variable& v : s.variables) put(v.extent);
    node(s, s.root);
  }

  void node(const statement& s, int id) {
    const expression& e = s.nodes[static_cast<std::size_t>(id)];
    put_int(static_cast<int>(e.kind));
    switch (e.kind) {
      case expression_kind::number:
        put_int(static_cast<int>(e.type)), put(e.number), put_int(e.integer);
        break;
      case expression_kind::index:
        put_int(e.symbol);
        break;
      case expression_kind::axis:
        put(p_.axes[static_cast<std::size_t>(e.symbol)].name);
        break;
      case expression_kind::load:
        put(p_.tensors[static_cast<std::size_t>(e.symbol)].name);
        for (const index_expression& i : e.indices) position(s, i);
        break;
      case expression_kind::call:
        put_int(static_cast<int>(e.op));
        break;
      case expression_kind::cast:
        put(name_of(e.cast_to));
        break;
      case expression_kind::reduce:
      case expression_kind::scan:
        put_int(static_cast<int>(e.reducer));
        for (const int variable : e.bound) put_int(variable);
        break;
    }
    put_int(static_cast<int>(e.arguments.size()));
    for (const int argument : e.arguments) node(s, argument);
  }

  void position(const statement& s, const index_expression& i) {
    if (!i.is_affine) {
      put("gather");
      return node(s, i.gather);
    }
    // Terms hold axis numbers, which follow the order of [axes]; sorting by names makes that order irrelevant.
    std::vector<std::string> terms;
    for (const affine_term& term : i.terms) {
      std::vector<std::string> names;
      for (const int a : term.axes) names.push_back(p_.axes[static_cast<std::size_t>(a)].name);
      std::sort(names.begin(), names.end());
      terms.push_back(fmt::format("{}*{}[{}]", term.coefficient, term.index, fmt::join(names, "*")));
    }
    std::sort(terms.begin(), terms.end());
    put("affine"), put_int(i.constant);
    for (const std::string& term : terms) put(term);
  }

  void source(std::string_view what, const source_file& file) { put(what), put(file.language), put(content_hash(file.text)); }

  void module(const module_spec& m) {
    source("module", m.source);
    for (const module_argument& argument : m.arguments) {
      put(argument.input);
      if (argument.input.empty()) put(argument.number), put_int(argument.is_integer ? 1 : 0);
    }
    for (const auto* names : {&m.parameters, &m.constants}) {
      put_int(static_cast<int>(names->size()));
      for (const auto& [own, theirs] : *names) put(own), put(theirs);
    }
    for (const std::string& output : m.outputs) put(output);
    if (!m.overrides.empty()) put("overrides");
    for (const auto& [constant, value] : m.overrides) put(constant), put_int(value);
  }

  void workloads() {
    std::vector<std::string> all;
    for (const workload& w : p_.workloads) {
      std::vector<std::string> extents;
      for (std::size_t i = 0; i < w.axes.size(); ++i) extents.push_back(fmt::format("{}={}", p_.axes[i].name, w.axes[i]));
      std::sort(extents.begin(), extents.end());
      all.push_back(fmt::format("{} weight {:x}", fmt::join(extents, " "), std::bit_cast<std::uint64_t>(w.weight)));
    }
    std::sort(all.begin(), all.end());
    put("workloads");
    for (const std::string& w : all) put(w);
  }

  void compare() {
    put("compare");
    if (!p_.compare.written) return put("default");
    put_int(static_cast<int>(p_.compare.mode));
    switch (p_.compare.mode) {
      case compare_mode::bitwise:
        break;
      case compare_mode::ulp:
        put(p_.compare.ulp);
        break;
      case compare_mode::allclose:
        put(p_.compare.atol), put(p_.compare.rtol);
        break;
      case compare_mode::normwise:
        put(p_.compare.norm);
        break;
    }
  }

  const problem& p_;
  std::string text_;
};

}  // namespace

std::string canonical_form(const problem& p) {
  return canonical_writer(p).run();
}

std::string identity_hash(const problem& p) {
  return content_hash(canonical_form(p));
}

}  // namespace kernsmith
