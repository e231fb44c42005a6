// Statements over common rows, each row in sweeps over strips of vectors.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "agents/synthesis/vector_c/c_emission.hpp"
#include "agents/synthesis/vector_c/row_plan.hpp"
#include "agents/synthesis/vector_c/vector_c_grammar.hpp"
#include "agents/synthesis/vector_c/vector_expression.hpp"

namespace kernsmith::agents::vector_c {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

/// The decisions of one group.
struct row_choices {
  std::int64_t group = 4, unroll = 1, exp_degree = 6;
  bool reciprocal = false;
  std::set<int> kept;  ///< revisited tensors that are stored
};

/// Row and element indices get the same names in all statements of the group.
tensor_ir with_common_names(const tensor_ir& ir, const row_plan& plan, std::string& inner_name) {
  tensor_ir common = ir;
  const statement& first = ir.statements[at(plan.statements.front().id)];
  std::set<std::string> taken;
  for (std::size_t r = 0; r < plan.rows; ++r) taken.insert(first.variables[at(first.target_indices[r])].name);
  for (const planned_statement& planned : plan.statements)
    if (planned.inner >= 0 && inner_name.empty()) inner_name = ir.statements[at(planned.id)].variables[at(planned.inner)].name;
  if (taken.contains(inner_name)) inner_name = "ks_element";
  for (const planned_statement& planned : plan.statements) {
    statement& s = common.statements[at(planned.id)];
    for (std::size_t r = 0; r < plan.rows; ++r)
      s.variables[at(s.target_indices[r])].name = first.variables[at(first.target_indices[r])].name;
    if (planned.inner >= 0) s.variables[at(planned.inner)].name = inner_name;
  }
  return common;
}

class row_emitter {
 public:
  row_emitter(const tensor_ir& ir, const row_plan& plan, row_choices choices)
      : plan_(plan), choices_(std::move(choices)), ir_(with_common_names(ir, plan, inner_)) {}

  std::string function(const std::string& name, const std::string& parameters);
  [[nodiscard]] const std::set<std::string>& preludes() const { return preludes_; }

 private:
  [[nodiscard]] const statement& of(const planned_statement& planned) const { return ir_.statements[at(planned.id)]; }
  [[nodiscard]] const std::string& tensor(int id) const { return ir_.tensors[at(id)].name; }
  [[nodiscard]] bool in_memory(int id) const { return ir_.tensors[at(id)].role == tensor_role::output || choices_.kept.contains(id); }
  /// Where the strip's part of a statement's target lies.
  [[nodiscard]] std::string place_of(const statement& s, int inner) const {
    const std::string row = c_scalar(ir_, s).target_index(inner);
    return row == "0" ? fmt::format("{} + {}", tensor(s.target), inner_) : fmt::format("{} + {} + {}", tensor(s.target), row, inner_);
  }
  [[nodiscard]] std::string row_value(int id) const { return "ks_" + tensor(id); }
  [[nodiscard]] std::optional<operand> row_source(const expression& load) const;
  void row_map(const planned_statement& planned);
  void sweep(int level);
  void write_strip(int level);
  [[nodiscard]] operand value_in_strip(strip& vectors, const planned_statement& planned, int level);
  [[nodiscard]] operand value_of(strip& vectors, const planned_statement& planned, int level);
  void accumulate(strip& vectors, const planned_statement& planned, int level);
  void open_reduction(const planned_statement& planned);
  void finish_reduction(const planned_statement& planned);
  [[nodiscard]] vector_names names() const { return {choices_.group}; }

  const row_plan& plan_;
  row_choices choices_;
  std::string inner_;
  tensor_ir ir_;
  source_writer out_;
  std::set<std::string> preludes_ = {"rvv"};
  std::map<int, operand> in_strip_;  ///< vector intermediates of the strip being written
  int fresh_ = 0;
};

/// Values of the row stand in scalar variables.
std::optional<operand> row_emitter::row_source(const expression& load) const {
  const planned_statement* from = plan_.producer(ir_, load.symbol);
  if (from == nullptr || from->part == row_part::vector_map) return std::nullopt;
  return operand{false, row_value(load.symbol)};
}

void row_emitter::row_map(const planned_statement& planned) {
  const statement& s = of(planned);
  const c_scalar scalar(ir_, s, [&](int node) -> std::optional<std::string> {
    const expression& e = s.nodes[at(node)];
    if (e.kind != expression_kind::load) return std::nullopt;
    const auto ready = row_source(e);
    return ready ? std::optional(ready->text) : std::nullopt;
  });
  out_.line(fmt::format("const float {} = {};", row_value(s.target), scalar.value(s.root, value_class::real)));
  if (in_memory(s.target)) out_.line(scalar.store(row_value(s.target), value_class::real));
}

/// A vector intermediate where it is used: from memory when an earlier sweep left it there, else computed, once in each strip.
operand row_emitter::value_of(strip& vectors, const planned_statement& planned, int level) {
  const statement& s = of(planned);
  if (const auto known = in_strip_.find(s.target); known != in_strip_.end()) return known->second;
  operand result;
  if (planned.level < level && in_memory(s.target)) {
    result = {true, vectors.keep(fmt::format("vle32_v_{}({}, vl)", names().f(), place_of(s, planned.inner)))};
  } else {
    result = value_in_strip(vectors, planned, level);
  }
  in_strip_[s.target] = result;
  return result;
}

operand row_emitter::value_in_strip(strip& vectors, const planned_statement& planned, int level) {
  const statement& s = of(planned);
  const int node = planned.part == row_part::row_reduce ? s.nodes[at(s.root)].arguments[0] : s.root;
  const strip::source from = [&](const expression& load) -> std::optional<operand> {
    if (auto row = row_source(load)) return row;
    const planned_statement* producer = plan_.producer(ir_, load.symbol);
    return producer == nullptr ? std::nullopt : std::optional(value_of(vectors, *producer, level));
  };
  const expression& root = s.nodes[at(node)];
  const bool by_row = root.kind == expression_kind::call && root.op == operation::divide &&
                      depends_on(s, root.arguments[0], planned.inner) && !depends_on(s, root.arguments[1], planned.inner);
  if (!by_row || !choices_.reciprocal) return vectors.value(s, node, planned.inner, inner_, from);
  const operand above = vectors.value(s, root.arguments[0], planned.inner, inner_, from);
  const operand below = vectors.value(s, root.arguments[1], planned.inner, inner_, from);
  return {true, vectors.keep(fmt::format("vfmul_vf_{}({}, 1.0f / {}, vl)", names().f(), vectors.vector(above), below.text))};
}

void row_emitter::open_reduction(const planned_statement& planned) {
  const statement& s = of(planned);
  const reduction kind = s.nodes[at(s.root)].reducer;
  const char* start = kind == reduction::max ? "-INFINITY" : kind == reduction::min ? "INFINITY" : "0.0f";
  out_.line("// " + s.text);
  out_.line(fmt::format("vfloat32m1_t {}_so_far = vfmv_v_f_f32m1({}, 1);", row_value(s.target), start));
  if (kind != reduction::sum) out_.line(fmt::format("size_t {}_nans = 0;", row_value(s.target)));
}

void row_emitter::accumulate(strip& vectors, const planned_statement& planned, int level) {
  const statement& s = of(planned);
  const std::string so_far = row_value(s.target) + "_so_far", v = vectors.vector(value_in_strip(vectors, planned, level));
  const reduction kind = s.nodes[at(s.root)].reducer;
  const char* name = kind == reduction::max ? "vfredmax" : kind == reduction::min ? "vfredmin" : "vfredusum";
  if (kind != reduction::sum)
    out_.line(
        fmt::format("{0}_nans += vcpop_m_{2}(vmfne_vv_{1}_{2}({3}, {3}, vl), vl);", row_value(s.target), names().f(), names().mask(), v));
  out_.line(fmt::format("{0} = {1}_vs_{2}_f32m1(vundefined_f32m1(), {3}, {0}, vl);", so_far, name, names().f(), v));
}

void row_emitter::finish_reduction(const planned_statement& planned) {
  const statement& s = of(planned);
  const std::string value = row_value(s.target);
  const bool sum = s.nodes[at(s.root)].reducer == reduction::sum;
  const std::string scalar = fmt::format("vfmv_f_s_f32m1_f32({}_so_far)", value);
  out_.line(fmt::format("const float {} = {};", value, sum ? scalar : fmt::format("{}_nans > 0 ? NAN : {}", value, scalar)));
  if (in_memory(s.target)) out_.line(c_scalar(ir_, s).store(value, value_class::real));
}

void row_emitter::write_strip(int level) {
  in_strip_.clear();
  strip vectors(ir_, out_, names(), choices_.exp_degree, fresh_, preludes_);
  for (const planned_statement& planned : plan_.statements) {
    if (planned.level != level) continue;
    const statement& s = of(planned);
    if (planned.part == row_part::row_reduce) accumulate(vectors, planned, level);
    if (planned.part != row_part::vector_map || !in_memory(s.target)) continue;
    const std::string v = vectors.vector(value_of(vectors, planned, level));
    out_.line(fmt::format("vse32_v_{}({}, {}, vl);", names().f(), place_of(s, planned.inner), v));
  }
}

void row_emitter::sweep(int level) {
  for (const planned_statement& planned : plan_.statements)
    if (planned.part == row_part::row_map && planned.level == level) row_map(planned);
  if (level >= plan_.sweeps) return;
  std::string extent;
  for (const planned_statement& planned : plan_.statements) {
    if (planned.inner >= 0) extent = c_extent(ir_, of(planned).variables[at(planned.inner)].extent);
    if (planned.level != level) continue;
    if (planned.part == row_part::row_reduce) open_reduction(planned);
    if (planned.part == row_part::vector_map) out_.line("// " + of(planned).text);
  }
  out_.open_scope();
  out_.line(fmt::format("int64_t {} = 0;", inner_));
  if (choices_.unroll > 1) {
    out_.line(fmt::format("const size_t ks_whole = vsetvlmax_e32m{}();", choices_.group));
    out_.open(fmt::format("while ({} + {} * (int64_t)ks_whole <= {})", inner_, choices_.unroll, extent));
    for (std::int64_t turn = 0; turn < choices_.unroll; ++turn) {
      out_.open_scope();
      out_.line("const size_t vl = ks_whole;");
      write_strip(level);
      out_.line(fmt::format("{} += (int64_t)vl;", inner_));
      out_.close();
    }
    out_.close();
  }
  out_.open(fmt::format("while ({} < {})", inner_, extent));
  out_.line(fmt::format("const size_t vl = vsetvl_e32m{}((size_t)({} - {}));", choices_.group, extent, inner_));
  write_strip(level);
  out_.line(fmt::format("{} += (int64_t)vl;", inner_));
  out_.close();
  out_.close();
  for (const planned_statement& planned : plan_.statements)
    if (planned.level == level && planned.part == row_part::row_reduce) finish_reduction(planned);
}

std::string row_emitter::function(const std::string& name, const std::string& parameters) {
  out_.open(fmt::format("static void {}({})", name, parameters));
  const statement& first = of(plan_.statements.front());
  for (std::size_t r = 0; r < plan_.rows; ++r) {
    const index_variable& variable = first.variables[at(first.target_indices[r])];
    out_.open_loop(variable.name, c_extent(ir_, variable.extent));
  }
  for (int level = 0; level <= plan_.sweeps; ++level) sweep(level);
  for (std::size_t r = 0; r < plan_.rows; ++r) out_.close();
  out_.close();
  return out_.text();
}

class row_grammar final : public group_grammar {
 public:
  explicit row_grammar(const vector_model& model) : model_(model) {}
  std::string_view name() const override { return "vector row"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    return model_.dialect == target_dialect::rvv && plan_rows(ir, group).has_value();
  }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model&) const override {
    const auto plan = plan_rows(ir, group);
    std::vector<decision> all;
    decision lmul{group.name + ".lmul", {}, {}, 0, 2.0, "vector registers taken together (LMUL)"};
    for (std::int64_t g = 1; g <= std::min<std::int64_t>(8, model_.max_group); g *= 2) lmul.values.push_back(g);
    lmul.preferred = std::min<std::size_t>(plan->has_exp ? 2 : 3, lmul.values.size() - 1);
    all.push_back(std::move(lmul));
    all.push_back({group.name + ".unroll", {1, 2, 4}, {}, 0, 1.0, "strips in one turn of a sweep's loop"});
    for (const int t : plan->revisited) {
      if (ir.tensors[at(t)].role == tensor_role::output) continue;  // in memory anyway
      const std::string& name = ir.tensors[at(t)].name;
      all.push_back({group.name + ".keep_" + name,
                     {0, 1},
                     {"computed again", "stored"},
                     1,
                     1.0,
                     fmt::format("what a later sweep does for {}", name)});
    }
    if (plan->has_exp)
      all.push_back({group.name + ".exp", {6, 5}, {"1 ulp", "2 ulp"}, 0, 1.0, "accuracy of exp: degree of its polynomial"});
    if (plan->divides_by_rows)
      all.push_back({group.name + ".divide", {0, 1}, {"divide", "reciprocal"}, 1, 1.0, "how vectors are divided by a value of their row"});
    return all;
  }

  void normalise(const tensor_ir&, const fusion_group&, const machine_model&, assignment&) const override {}

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    const auto plan = plan_rows(ir, group);
    const auto choice = [&](const std::string& name, std::int64_t otherwise) {
      const auto found = chosen.find(group.name + "." + name);
      return found == chosen.end() ? otherwise : found->second;
    };
    row_choices choices;
    choices.group = choice("lmul", choices.group);
    choices.unroll = choice("unroll", choices.unroll);
    choices.exp_degree = choice("exp", choices.exp_degree);
    choices.reciprocal = choice("divide", 0) != 0;
    emitted_group emitted;
    std::set<int> absent;
    for (const planned_statement& planned : plan->statements) {
      const int target = ir.statements[at(planned.id)].target;
      if (ir.tensors[at(target)].role != tensor_role::intermediate) continue;
      const bool revisited = std::find(plan->revisited.begin(), plan->revisited.end(), target) != plan->revisited.end();
      const bool outside = read_outside(ir, group, target);
      const bool stored = outside || (revisited && choice("keep_" + ir.tensors[at(target)].name, 1) != 0);
      if (!stored) {
        absent.insert(target);
        continue;
      }
      choices.kept.insert(target);
      emitted.stored.push_back(target);
    }
    row_emitter emitter(ir, *plan, choices);
    emitted.functions = emitter.function(group.name + "_rows", declare_c_parameters(ir, group.statements, absent));
    emitted.preludes = emitter.preludes();
    emitted.call = fmt::format("{}_rows({});\n", group.name, pass_c_parameters(ir, group.statements, absent));
    return emitted;
  }

 private:
  static bool read_outside(const tensor_ir& ir, const fusion_group& group, int tensor) {
    const std::vector<int> readers = ir.consumers(tensor);
    return std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return std::find(group.statements.begin(), group.statements.end(), reader) == group.statements.end();
    });
  }

  vector_model model_;
};

}  // namespace

std::unique_ptr<group_grammar> make_row_grammar(const vector_model& model) {
  return std::make_unique<row_grammar>(model);
}

}  // namespace kernsmith::agents::vector_c
