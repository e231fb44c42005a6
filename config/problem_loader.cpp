// A problem file becomes a problem: the sections in their order of dependence, then the checks that need all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "config/problem_identity.hpp"
#include "config/problem_tables.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

const std::vector<std::string> sections = {"name",       "axes",      "inputs",    "outputs",      "intermediates", "definition",
                                           "reference",  "module",    "baselines", "seed_kernels", "compare",       "precision",
                                           "candidates", "objective", "timing",    "workloads"};

source_place first_invalid_byte(const std::string& text) {
  // A line is valid or not on its own, so only the broken one is searched byte by byte.
  source_place place{1, 1};
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    if (!is_valid_utf8(line)) {
      for (std::size_t length = 1; length <= line.size(); ++length)
        if (is_valid_utf8(line.substr(0, length))) ++place.column;
      return place;
    }
    begin = end + 1;
    ++place.line;
  }
  return {};
}

void read_name(const table_reader& root, problem& p) {
  const toml_value& name = root.need("name", "name = \"softmax\"");
  p.name = as_text(name, "'name'");
  if (!is_valid_name(p.name) || p.name.size() > max_problem_name_length)
    refuse(name.place,
           fmt::format("'{}' can't name a problem; use up to {} lower-case letters, digits, '_' and '-'", p.name, max_problem_name_length));
}

void read_what_to_compute(const table_reader& root, problem& p, const std::string& text, const std::filesystem::path& folder) {
  const toml_value* definition = root.find("definition");
  const toml_value* reference = root.find("reference");
  if (definition != nullptr && reference != nullptr)
    refuse(root.place_of("reference"), "a problem has either a [definition] or a [reference], not both; drop one");
  if (definition == nullptr && reference == nullptr)
    refuse(root.place(), "nothing says what to compute; add a [definition] or a [reference]");
  std::vector<intermediate_declaration> intermediates;
  if (const toml_value* declared = root.find("intermediates")) {
    if (reference != nullptr)
      refuse(root.place_of("intermediates"), "[intermediates] belong to a [definition]; this problem has a [reference]");
    intermediates = read_intermediates(*declared, p);
  }
  if (reference != nullptr) {
    p.reference = read_reference(*reference, folder);
    return;
  }
  const table_reader table(*definition, "[definition]", {"text"});
  const toml_value& value = table.need("text", "text = \"y[i] = x[i]\"");
  located_text located{as_text(value, "'text' in [definition]"), literal_places(text, value.place)};
  if (located.places.size() != located.text.size() + 1) located.places.assign(located.text.size() + 1, value.place);
  resolve_definition(p, located, intermediates);
}

void settle_precision(const table_reader& root, problem& p) {
  if (const toml_value* precision = root.find("precision")) p.precision = read_precision(*precision);
  if (p.precision.written) return;
  const std::vector<int> outputs = p.outputs();
  const auto is_f64 = [&](int id) { return p.tensors[static_cast<std::size_t>(id)].type == dtype::f64; };
  if (std::all_of(outputs.begin(), outputs.end(), is_f64)) p.precision.lowest = dtype::f64;
}

problem build(const std::string& text, const std::filesystem::path& file) {
  const toml_value document = parse_toml(text);
  const table_reader root(document, "the problem file", sections);
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  problem p;
  p.path = file;
  read_name(root, p);
  if (const toml_value* axes = root.find("axes")) read_axes(*axes, p);
  read_tensors(root.need("inputs", "[inputs.x]"), tensor_role::input, p, folder);
  read_tensors(root.need("outputs", "[outputs.y]"), tensor_role::output, p, folder);
  if (p.inputs().empty()) refuse(root.place_of("inputs"), "the problem has no inputs; declare at least one, as in [inputs.x]");
  if (p.outputs().empty()) refuse(root.place_of("outputs"), "the problem has no outputs; declare at least one, as in [outputs.y]");
  settle_precision(root, p);
  if (const toml_value* workloads = root.find("workloads")) read_workloads(*workloads, p);
  if (p.workloads.empty()) {
    workload w;
    for (const axis& a : p.axes) w.axes.push_back(a.extent);
    p.workloads.push_back(std::move(w));
  }
  read_what_to_compute(root, p, text, folder);
  settle_inits(p);
  if (const toml_value* module = root.find("module")) p.module = read_module(*module, p, folder);
  read_baselines(root.find("baselines"), p, folder);
  if (const toml_value* seeds = root.find("seed_kernels")) read_seed_kernels(*seeds, p, folder);
  if (const toml_value* candidates = root.find("candidates")) p.libraries = read_libraries(*candidates);
  if (const toml_value* objective = root.find("objective")) p.objective = read_objective(*objective);
  if (const toml_value* timing = root.find("timing")) p.replay = read_timing(*timing);
  if (const toml_value* compare = root.find("compare")) p.compare = read_compare(*compare);
  return p;
}

}  // namespace

result<problem> parse_problem(const std::string& text, const std::filesystem::path& file) {
  if (text.size() > max_problem_bytes)
    return fail(fault::bad_request, fmt::format("{}: larger than {} bytes; this is no problem file", file.string(), max_problem_bytes));
  if (!is_valid_utf8(text))
    return fail(fault::bad_request, place_message(file.string(), first_invalid_byte(text), "not UTF-8 text; save the file as UTF-8"));
  try {
    problem p = build(text, file);
    for (const workload& w : p.workloads)
      if (auto legal = check_axes(p, w.axes); !legal) return tl::unexpected<error>(legal.error());
    if (!p.compare.written) p.compare = compare_for(p, p.outputs().front(), p.workloads.front().axes);
    p.hash = identity_hash(p);
    return p;
  } catch (const refusal& r) {
    return fail(fault::bad_request, place_message(file.string(), r.place, r.message));
  } catch (const std::filesystem::filesystem_error& e) {
    return fail(fault::bad_request, fmt::format("{}: {}", file.string(), e.what()));
  }
}

result<problem> load_problem(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code))
    return fail(fault::bad_request, fmt::format("{}: there is no such file; give the path of a problem file (.toml)", file.string()));
  if (std::filesystem::is_directory(file, code))
    return fail(fault::bad_request, fmt::format("{}: is a folder; give the path of a problem file (.toml)", file.string()));
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    return fail(fault::bad_request, fmt::format("{}: can't be read: {}; check its permissions", file.string(), std::strerror(errno)));
  std::string text(max_problem_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return parse_problem(text, file);
}

}  // namespace kernsmith
