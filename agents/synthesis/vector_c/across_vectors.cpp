// A reduction over other indices than the target's last: accumulators as wide as a strip, for a block of rows at once, so that what the
// rows share is loaded once.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/vector_c/c_emission.hpp"
#include "agents/synthesis/vector_c/vector_c_grammar.hpp"
#include "agents/synthesis/vector_c/vector_expression.hpp"

namespace kernsmith::agents::vector_c {
namespace {

constexpr std::int64_t vector_registers = 32;
/// Groups of registers that a block needs beside its accumulators: what is loaded, and one in flight.
constexpr std::int64_t spare_groups = 2;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

const statement& only(const tensor_ir& ir, const fusion_group& group) {
  return ir.statements[at(group.statements[0])];
}

class across_emitter {
 public:
  across_emitter(const tensor_ir& ir, const fusion_group& group, std::int64_t lmul, std::int64_t rows, std::int64_t unroll)
      : ir_(ir), name_(group.name), s_(only(ir, group)), names_{lmul}, rows_(rows), unroll_(unroll) {
    inner_ = s_.target_indices.back();
    blocked_ = s_.target_indices.size() > 1 ? s_.target_indices[s_.target_indices.size() - 2] : -1;
  }

  std::string function(const std::string& parameters) {
    out_.line("// " + s_.text);
    out_.open(fmt::format("static void {}_across({})", name_, parameters));
    for (std::size_t i = 0; i + 2 < s_.target_indices.size(); ++i) open_loop(s_.target_indices[i]);
    if (blocked_ < 0) {
      write_block(1);
    } else {
      const std::string name = s_.variables[at(blocked_)].name, extent = extent_of_variable(blocked_);
      out_.line(fmt::format("int64_t {} = 0;", name));
      if (rows_ > 1) {
        out_.open(fmt::format("for (; {0} + {1} <= {2}; {0} += {1})", name, rows_, extent));
        write_block(rows_);
        out_.close();
      }
      out_.open(fmt::format("for (; {0} < {1}; ++{0})", name, extent));
      write_block(1);
      out_.close();
    }
    for (std::size_t i = 0; i + 2 < s_.target_indices.size(); ++i) out_.close();
    out_.close();
    return out_.text();
  }

  [[nodiscard]] const std::set<std::string>& preludes() const { return preludes_; }

 private:
  [[nodiscard]] std::string extent_of_variable(int variable) const { return c_extent(ir_, s_.variables[at(variable)].extent); }
  void open_loop(int variable) { out_.open_loop(s_.variables[at(variable)].name, extent_of_variable(variable)); }

  /// The statement as row `r` of the block sees it.
  [[nodiscard]] statement of_row(std::int64_t r) const {
    statement s = s_;
    if (r > 0) s.variables[at(blocked_)].name = fmt::format("ks_{}_{}", s.variables[at(blocked_)].name, r);
    return s;
  }

  void write_block(std::int64_t rows) {
    const expression& root = s_.nodes[at(s_.root)];
    const std::string inner = s_.variables[at(inner_)].name, extent = extent_of_variable(inner_);
    for (std::int64_t r = 1; r < rows; ++r) {
      const std::string& name = s_.variables[at(blocked_)].name;
      out_.line(fmt::format("const int64_t ks_{0}_{1} = {0} + {1};", name, r));
    }
    out_.open(fmt::format("for (int64_t {} = 0; {} < {};)", inner, inner, extent));
    out_.line(fmt::format("const size_t vl = vsetvl_e32m{}((size_t)({} - {}));", names_.group, extent, inner));
    for (std::int64_t r = 0; r < rows; ++r) out_.line(fmt::format("{} sum{} = vfmv_v_f_{}(0.0f, vl);", names_.type(), r, names_.f()));
    for (std::size_t i = 0; i < root.bound.size(); ++i) {
      if (i + 1 == root.bound.size() && unroll_ > 1) out_.line(fmt::format("#pragma clang loop unroll_count({})", unroll_));
      open_loop(root.bound[i]);
    }
    strip vectors(ir_, out_, names_, exp_degree, fresh_, preludes_);
    for (std::int64_t r = 0; r < rows; ++r) add_to(vectors, r, root.arguments[0]);
    for (std::size_t i = 0; i < root.bound.size(); ++i) out_.close();
    for (std::int64_t r = 0; r < rows; ++r) {
      const statement s = of_row(r);
      out_.line(fmt::format("vse32_v_{}({} + {} + {}, sum{}, vl);", names_.f(), ir_.tensors[at(s.target)].name,
                            c_scalar(ir_, s).target_index(inner_), inner, r));
    }
    out_.line(fmt::format("{} += (int64_t)vl;", inner));
    out_.close();
  }

  /// sum += a * b is one instruction, with a scalar on one side too.
  void add_to(strip& vectors, std::int64_t r, int body) {
    const statement s = of_row(r);
    const strip::source memory = [](const expression&) { return std::nullopt; };
    const expression& e = s.nodes[at(body)];
    const std::string& inner = s.variables[at(inner_)].name;
    const auto value = [&](int node) { return vectors.value(s, node, inner_, inner, memory); };
    if (e.kind == expression_kind::call && e.op == operation::multiply) {
      operand a = value(e.arguments[0]), b = value(e.arguments[1]);
      if (a.vector && !b.vector) std::swap(a, b);
      out_.line(fmt::format("sum{0} = vfmacc_{1}_{2}(sum{0}, {3}, {4}, vl);", r, a.vector ? "vv" : "vf", names_.f(), a.text, b.text));
      return;
    }
    out_.line(fmt::format("sum{0} = vfadd_vv_{1}(sum{0}, {2}, vl);", r, names_.f(), vectors.vector(value(body))));
  }

  static constexpr std::int64_t exp_degree = 6;

  const tensor_ir& ir_;
  std::string name_;
  const statement& s_;
  vector_names names_;
  std::int64_t rows_, unroll_;
  int inner_ = -1, blocked_ = -1;
  source_writer out_;
  std::set<std::string> preludes_ = {"rvv"};
  int fresh_ = 0;
};

class across_grammar final : public group_grammar {
 public:
  explicit across_grammar(const vector_model& model) : model_(model) {}
  std::string_view name() const override { return "vector across"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override {
    if (model_.dialect != target_dialect::rvv || group.statements.size() != 1) return false;
    const statement& s = only(ir, group);
    const expression& root = s.nodes[at(s.root)];
    if (root.kind != expression_kind::reduce || root.reducer != reduction::sum || root.type != value_class::real) return false;
    if (s.target_indices.empty() || ir.tensors[at(s.target)].type != dtype::f32 || needs_double(ir, s)) return false;
    const int inner = s.target_indices.back(), body = root.arguments[0];
    return s.nodes[at(body)].type == value_class::real && depends_on(s, body, inner) && vectorises(ir, s, body, inner);
  }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model&) const override {
    std::vector<decision> all;
    decision lmul{group.name + ".lmul", {}, {}, 0, 2.0, "vector registers taken together (LMUL)"};
    for (std::int64_t g = 1; g <= std::min<std::int64_t>(8, model_.max_group); g *= 2) lmul.values.push_back(g);
    lmul.preferred = std::min<std::size_t>(2, lmul.values.size() - 1);
    all.push_back(std::move(lmul));
    if (only(ir, group).target_indices.size() > 1)
      all.push_back({group.name + ".rows", {1, 2, 3, 4, 6, 8, 14}, {}, 3, 2.0, "rows of accumulators in one block"});
    all.push_back({group.name + ".unroll", {1, 2, 4}, {}, 0, 1.0, "turns of the innermost reduction loop made at once"});
    return all;
  }

  /// A block's accumulators have to fit the registers.
  void normalise(const tensor_ir&, const fusion_group& group, const machine_model&, assignment& chosen) const override {
    const auto rows = chosen.find(group.name + ".rows");
    if (rows == chosen.end()) return;
    const std::int64_t most = vector_registers / chosen.at(group.name + ".lmul") - spare_groups;
    for (const std::int64_t fitting : {14, 8, 6, 4, 3, 2, 1}) {
      if (rows->second > most && fitting <= most) rows->second = fitting;
    }
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model&, const assignment& chosen) const override {
    const auto rows = chosen.find(group.name + ".rows");
    across_emitter emitter(ir, group, chosen.at(group.name + ".lmul"), rows == chosen.end() ? 1 : rows->second,
                           chosen.at(group.name + ".unroll"));
    emitted_group emitted;
    emitted.functions = emitter.function(declare_c_parameters(ir, group.statements));
    emitted.preludes = emitter.preludes();
    emitted.call = fmt::format("{}_across({});\n", group.name, pass_c_parameters(ir, group.statements));
    const int target = only(ir, group).target;
    if (ir.tensors[at(target)].role == tensor_role::intermediate) emitted.stored.push_back(target);
    return emitted;
  }

 private:
  vector_model model_;
};

}  // namespace

std::unique_ptr<group_grammar> make_across_grammar(const vector_model& model) {
  return std::make_unique<across_grammar>(model);
}

}  // namespace kernsmith::agents::vector_c
