#include "agents/synthesis/simt/gemm_plan.hpp"

#include <algorithm>

namespace kernsmith::agents::simt {
namespace {

using nest::node;
using nest::node_kind;
using nest::polynomial;

/// Batch variables of one operand beside its plane, depth and rows: a tensor map has five dimensions.
constexpr std::size_t max_batch_dimensions = 2;
/// A type with as many bits of precision as f32 has takes so many planes of bf16.
constexpr int f32_planes = 3;

const node& node_at(const gemm_plan& plan, int id) {
  return plan.nest.p.nodes[static_cast<std::size_t>(id)];
}

/// The type that holds every value of the tree; f32 where arithmetic makes it.
dtype exact_type(const nest::program& p, int root) {
  const node& n = p.nodes[static_cast<std::size_t>(root)];
  if (n.kind == node_kind::load) return p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type;
  if (n.kind == node_kind::cast && is_float(n.cast_to)) {
    const dtype argument = exact_type(p, n.arguments[0]);
    return size_of(argument) <= size_of(n.cast_to) ? argument : n.cast_to;
  }
  return dtype::f32;
}

int planes_of(dtype type, matrix_element element, dtype lowest) {
  const bool tiny = type == dtype::f8e4m3 || type == dtype::f8e5m2 || type == dtype::i8 || type == dtype::u8 || type == dtype::boolean;
  if (tiny) return 1;
  if (element == matrix_element::f16) return type == dtype::f16 || lowest == dtype::f16 ? 1 : f32_planes + 1;
  if (type == dtype::bf16 || lowest == dtype::bf16) return 1;
  return type == dtype::f16 ? 2 : f32_planes;
}

/// Is the tree contiguous along `variable`? Loads that vary along both decide; a lone load along one is cheap either way.
bool lies_along(const gemm_plan& plan, int root, int variable, int depth) {
  const polynomial one = polynomial::constant(1);
  bool along = false;
  const auto visit = [&](const auto& self, int id) -> void {
    const node& n = node_at(plan, id);
    if (n.kind == node_kind::load && !n.where.stride(depth).is_zero()) along = along || n.where.stride(variable) == one;
    for (const int argument : n.arguments) self(self, argument);
  };
  visit(visit, root);
  return along;
}

/// The load under casts that keep its value, or -1.
int bare_load(const gemm_plan& plan, int root) {
  const node& n = node_at(plan, root);
  if (n.kind == node_kind::load) return root;
  const bool keeps = n.kind == node_kind::cast && (n.cast_to == dtype::f32 || n.cast_to == dtype::f64);
  return keeps ? bare_load(plan, n.arguments[0]) : -1;
}

bool has_guards(const gemm_plan& plan) {
  return std::any_of(plan.nest.p.nodes.begin(), plan.nest.p.nodes.end(), [](const node& n) { return !n.guards.empty(); });
}

bool describe_operand(gemm_plan& plan, gemm_operand& operand, int root, int variable) {
  const int depth = plan.nest.depth[0];
  const std::set<int> used = plan.nest.p.used(root);
  operand.root = root;
  operand.variable = variable;
  for (const int b : plan.nest.batch)
    if (used.contains(b)) operand.batch.push_back(b);
  operand.along = lies_along(plan, root, variable, depth);
  if (operand.batch.size() > max_batch_dimensions || !used.contains(variable) || !used.contains(depth)) return false;

  const int load = bare_load(plan, root);
  if (load < 0) return true;
  const node& n = node_at(plan, load);
  const dtype wanted = plan.element == matrix_element::bf16 ? dtype::bf16 : dtype::f16;
  const polynomial one = polynomial::constant(1);
  operand.plain = plan.nest.p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type == wanted && n.where.offset.is_zero() &&
                  n.where.stride(operand.along ? variable : depth) == one;
  operand.at = n.where;
  return true;
}

}  // namespace

gemm_sizes sizes_of(const gemm_plan& plan) {
  gemm_sizes s;
  const std::vector<workload>& workloads = plan.nest.p.ir->workloads;
  std::vector<std::int64_t> axes;
  for (const axis& a : plan.nest.p.ir->axes) axes.push_back(a.extent);
  const auto heaviest =
      std::max_element(workloads.begin(), workloads.end(), [](const workload& a, const workload& b) { return a.weight < b.weight; });
  if (heaviest != workloads.end()) axes = heaviest->axes;
  for (const int variable : plan.nest.batch) s.batches *= plan.nest.extent(variable).value(axes);
  s.rows = plan.nest.extent(plan.nest.row).value(axes);
  s.columns = plan.nest.extent(plan.nest.column).value(axes);
  s.depth = plan.nest.depth_extent().value(axes);
  return s;
}

std::optional<gemm_plan> plan_gemm(const tensor_ir& ir, const fusion_group& group, dtype lowest) {
  std::optional<nest::contraction_plan> read = nest::plan_contraction(ir, group);
  if (!read || read->sums != nest::sum_kind::f32 || read->row < 0 || read->column < 0 || read->depth.size() != 1) return std::nullopt;
  gemm_plan plan;
  plan.nest = std::move(*read);
  if (has_guards(plan)) return std::nullopt;

  const dtype left = exact_type(plan.nest.p, plan.nest.left), right = exact_type(plan.nest.p, plan.nest.right);
  const auto planes = [&](matrix_element element) { return planes_of(left, element, lowest) * planes_of(right, element, lowest); };
  const bool prefers_f16 = (left == dtype::f16 || right == dtype::f16) && !(left == dtype::bf16 || right == dtype::bf16);
  plan.element = planes(matrix_element::f16) < planes(matrix_element::bf16) || (prefers_f16 && planes(matrix_element::f16) == 1)
                     ? matrix_element::f16
                     : matrix_element::bf16;
  plan.left.planes = planes_of(left, plan.element, lowest);
  plan.right.planes = planes_of(right, plan.element, lowest);
  if (!describe_operand(plan, plan.left, plan.nest.left, plan.nest.row)) return std::nullopt;
  if (!describe_operand(plan, plan.right, plan.nest.right, plan.nest.column)) return std::nullopt;
  return plan;
}

}  // namespace kernsmith::agents::simt
