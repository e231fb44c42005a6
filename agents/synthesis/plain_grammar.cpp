// One statement as plain loops: whatever the definition language can say, computed the obvious way. The floor under the other grammars.
#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/emission.hpp"
#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents {
namespace {

/// Emits the function of one statement.
class plain_emitter {
 public:
  plain_emitter(const tensor_ir& ir, const fusion_group& group, std::int64_t collapse, bool parallel)
      : ir_(ir),
        group_(group),
        s_(ir.statements[static_cast<std::size_t>(group.statements[0])]),
        scalar_(ir, s_),
        local_(names_beside(ir, s_)),
        collapse_(collapse),
        parallel_(parallel) {}

  std::string function() {
    out_.line("// " + s_.text);
    out_.open(fmt::format("static void {}_plain({})", group_.name,
                          declare_parameters(ir_, parameters_of(ir_, group_.statements), group_.statements)));
    const expression& root = s_.nodes[static_cast<std::size_t>(s_.root)];
    if (root.kind == expression_kind::scan)
      scan(root);
    else if (root.kind == expression_kind::reduce)
      reduce(root);
    else
      map(root);
    out_.close();
    return out_.text();
  }

 private:
  /// Opens the loops over `variables`, the outer ones shared among the threads.
  void open_loops(const std::vector<int>& variables) {
    const std::int64_t shared = std::min<std::int64_t>(collapse_, static_cast<std::int64_t>(variables.size()));
    if (parallel_ && shared > 0) {
      const std::string collapse = shared > 1 ? fmt::format(" collapse({})", shared) : "";
      out_.line(fmt::format("#pragma omp parallel for{} schedule(static) num_threads(threads)", collapse));
    }
    for (const int id : variables) out_.open_loop(scalar_.index_name(id), scalar_.extent_of_variable(id));
  }
  void close_loops(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) out_.close();
  }

  void store(const std::string& value, std::string_view type) {
    out_.line(fmt::format("{} = {};", scalar_.target_element(), scalar_.to_storage(value, type)));
  }

  void map(const expression& root) {
    open_loops(s_.target_indices);
    store(scalar_.value(s_.root, root.type), scalar_.type_text(root.type));
    close_loops(s_.target_indices.size());
  }

  /// The emitted function's own locals, under names that nothing of the problem has.
  struct local_names {
    std::string acc, best, best_at, candidate, position;
  };
  static local_names names_beside(const tensor_ir& ir, const statement& s) {
    const auto pick = [&](const std::string& name) {
      const auto same = [&](const auto& named) { return named.name == name; };
      const bool taken = std::any_of(ir.axes.begin(), ir.axes.end(), same) || std::any_of(ir.tensors.begin(), ir.tensors.end(), same) ||
                         std::any_of(s.variables.begin(), s.variables.end(), same);
      return taken ? "ks_" + name : name;
    };
    return {pick("acc"), pick("best"), pick("best_at"), pick("candidate"), pick("position")};
  }

  /// Sums and products of reals are accumulated in double: a long one would lose digits in float.
  std::string accumulator_type(const expression& e) const {
    const bool accumulates = e.reducer == reduction::sum || e.reducer == reduction::prod;
    return e.type == value_class::real && accumulates ? "double" : scalar_.type_text(class_of(e));
  }
  /// Booleans take part in sums and maxima as integers.
  static value_class class_of(const expression& e) {
    if (e.reducer == reduction::any || e.reducer == reduction::all) return value_class::boolean;
    return e.type == value_class::boolean ? value_class::integer : e.type;
  }

  static std::string initial(const expression& e) {
    const bool real = e.type == value_class::real;
    switch (e.reducer) {
      case reduction::sum:
        return "0";
      case reduction::prod:
        return "1";
      case reduction::max:
        return real ? "-INFINITY" : "INT64_MIN";
      case reduction::min:
        return real ? "INFINITY" : "INT64_MAX";
      case reduction::any:
        return "false";
      case reduction::all:
        return "true";
      case reduction::argmax:
      case reduction::argmin:
        return "0";
    }
    return "0";
  }

  std::string combine(const expression& e, const std::string& value, const std::string& type) const {
    const bool real = e.type == value_class::real;
    switch (e.reducer) {
      case reduction::sum:
        return real ? fmt::format("{} += {};", local_.acc, value) : fmt::format("{0} = ks_add({0}, {1});", local_.acc, value);
      case reduction::prod:
        return real ? fmt::format("{} *= {};", local_.acc, value) : fmt::format("{0} = ks_multiply({0}, {1});", local_.acc, value);
      case reduction::max:
        return fmt::format("{0} = ks_max<{1}>({0}, {2});", local_.acc, type, value);
      case reduction::min:
        return fmt::format("{0} = ks_min<{1}>({0}, {2});", local_.acc, type, value);
      case reduction::any:
        return fmt::format("{0} = {0} || ({1});", local_.acc, value);
      case reduction::all:
        return fmt::format("{0} = {0} && ({1});", local_.acc, value);
      case reduction::argmax:
      case reduction::argmin:
        break;  // search() keeps two values
    }
    return "";
  }

  void reduce(const expression& e) {
    const bool whole = s_.target_indices.empty();
    open_loops(s_.target_indices);
    if (e.reducer == reduction::argmax || e.reducer == reduction::argmin) {
      search(e);
    } else {
      const std::string type = accumulator_type(e);
      out_.line(fmt::format("{} {} = {};", type, local_.acc, initial(e)));
      if (whole && parallel_) share_reduction(e);
      for (const int id : e.bound) out_.open_loop(scalar_.index_name(id), scalar_.extent_of_variable(id));
      out_.line(combine(e, scalar_.value(e.arguments[0], class_of(e)), type));
      close_loops(e.bound.size());
      store(local_.acc, type);
    }
    close_loops(s_.target_indices.size());
  }

  /// A reduction to one value: threads take parts of the outermost loop. Maxima stay serial, as OpenMP's own would lose NaNs.
  void share_reduction(const expression& e) {
    std::string_view op;
    if (e.reducer == reduction::sum) op = "+";
    if (e.reducer == reduction::prod) op = "*";
    if (e.reducer == reduction::any) op = "||";
    if (e.reducer == reduction::all) op = "&&";
    if (!op.empty())
      out_.line(fmt::format("#pragma omp parallel for schedule(static) num_threads(threads) reduction({} : {})", op, local_.acc));
  }

  /// argmax and argmin: the first position, row-major over the bound indices, whose value no other exceeds.
  void search(const expression& e) {
    const expression& body = s_.nodes[static_cast<std::size_t>(e.arguments[0])];
    const value_class type = body.type == value_class::boolean ? value_class::integer : body.type;
    const auto& [acc, best, best_at, candidate, position] = local_;
    out_.line(fmt::format("{} {} = 0;", scalar_.type_text(type), best));
    out_.line(fmt::format("int64_t {} = -1, {} = 0;", best_at, position));
    for (const int id : e.bound) out_.open_loop(scalar_.index_name(id), scalar_.extent_of_variable(id));
    out_.line(fmt::format("const {} {} = {};", scalar_.type_text(type), candidate, scalar_.value(e.arguments[0], type)));
    out_.open(fmt::format("if ({} < 0 || {} {} {})", best_at, candidate, e.reducer == reduction::argmax ? ">" : "<", best));
    out_.line(fmt::format("{} = {};", best, candidate));
    out_.line(fmt::format("{} = {};", best_at, position));
    out_.close();
    out_.line(fmt::format("++{};", position));
    close_loops(e.bound.size());
    store(best_at, "int64_t");
  }

  void scan(const expression& e) {
    const int along = e.bound[0];
    std::vector<int> outer;
    for (const int id : s_.target_indices)
      if (id != along) outer.push_back(id);
    open_loops(outer);
    const std::string type = accumulator_type(e);
    out_.line(fmt::format("{} {} = {};", type, local_.acc, initial(e)));
    out_.open_loop(scalar_.index_name(along), scalar_.extent_of_variable(along));
    out_.line(combine(e, scalar_.value(e.arguments[0], class_of(e)), type));
    store(local_.acc, type);
    out_.close();
    close_loops(outer.size());
  }

  const tensor_ir& ir_;
  const fusion_group& group_;
  const statement& s_;
  scalar_expression scalar_;
  local_names local_;
  std::int64_t collapse_;
  bool parallel_;
  source_writer out_;
};

class plain_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "plain"; }

  bool accepts(const tensor_ir&, const fusion_group& group) const override { return group.statements.size() == 1; }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model& machine) const override {
    std::vector<decision> all;
    decision threads{group.name + ".threads", {1, 0}, {"all", "one"}, 0, 1.0, "share the outer loops among the threads"};
    all.push_back(std::move(threads));
    if (const std::int64_t loops = shareable_loops(ir, group); loops > 1) {
      decision collapse{group.name + ".collapse", {}, {}, 0, 1.0, "outer loops that are shared as one"};
      for (std::int64_t depth = 1; depth <= loops; ++depth) collapse.values.push_back(depth);
      collapse.preferred = preferred_depth(ir, group, machine, collapse.values.size());
      all.push_back(std::move(collapse));
    }
    return all;
  }

  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, assignment& chosen) const override {
    if (chosen.at(group.name + ".threads") != 0) return;
    for (const decision& d : decisions(ir, group, machine))
      if (d.name == group.name + ".collapse") chosen[d.name] = d.values[d.preferred];
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    const auto collapse = chosen.find(group.name + ".collapse");
    plain_emitter emitter(ir, group, collapse == chosen.end() ? 1 : collapse->second, chosen.at(group.name + ".threads") != 0);
    emitted_group emitted;
    emitted.functions = emitter.function();
    emitted.call = fmt::format("{}_plain({});\n", group.name, pass_parameters(ir, parameters_of(ir, group.statements)));
    emitted.preludes = {"types"};
    const int target = ir.statements[static_cast<std::size_t>(group.statements[0])].target;
    if (ir.tensors[static_cast<std::size_t>(target)].role == tensor_role::intermediate) emitted.stored.push_back(target);
    return emitted;
  }

 private:
  static const statement& only(const tensor_ir& ir, const fusion_group& group) {
    return ir.statements[static_cast<std::size_t>(group.statements[0])];
  }

  static std::int64_t shareable_loops(const tensor_ir& ir, const fusion_group& group) {
    const statement& s = only(ir, group);
    const bool scan = s.nodes[static_cast<std::size_t>(s.root)].kind == expression_kind::scan;
    return static_cast<std::int64_t>(s.target_indices.size()) - (scan ? 1 : 0);
  }

  /// The fewest outer loops that give every core several pieces of work in the heaviest workload.
  static std::size_t preferred_depth(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, std::size_t depths) {
    constexpr std::int64_t pieces_per_core = 8;
    const statement& s = only(ir, group);
    std::int64_t pieces = 1;
    for (std::size_t depth = 0; depth + 1 < depths; ++depth) {
      std::int64_t extent = 1;
      const index_variable& variable = s.variables[static_cast<std::size_t>(s.target_indices[depth])];
      for (const workload& w : ir.workloads) extent = std::max(extent, extent_of(variable.extent, w.axes));
      pieces *= extent;
      if (pieces >= pieces_per_core * machine.cores) return depth;
    }
    return depths - 1;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_plain_grammar() {
  return std::make_unique<plain_grammar>();
}

}  // namespace kernsmith::agents
