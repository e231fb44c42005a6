#include "agents/synthesis/simt/gemm_plan.hpp"

#include <algorithm>

namespace kernsmith::agents::simt {
namespace {

using nest::node;
using nest::node_kind;
using nest::polynomial;

/// Batch variables of one operand beside its plane, depth and rows: a tensor map has five dimensions.
constexpr std::size_t max_batch_dimensions = 2;
constexpr std::int64_t max_taps = 32;  // bits of a word
constexpr int f32_bits = 24, bf16_bits = 8;
/// Planes of bf16 that hold what f16 holds.
constexpr int f16_planes = 2;

const node& node_at(const gemm_plan& plan, int id) {
  return plan.nest.p.nodes[static_cast<std::size_t>(id)];
}

/// Bits of precision of a type's values as a float; f32 stands for everything wider.
int bits_of(dtype type) {
  switch (type) {
    case dtype::boolean:
      return 1;
    case dtype::f8e5m2:
      return 3;
    case dtype::f8e4m3:
      return 4;
    case dtype::bf16:
    case dtype::i8:
    case dtype::u8:
      return 8;
    case dtype::f16:
      return 11;
    case dtype::i16:
      return 16;
    default:
      return f32_bits;
  }
}

/// Bits of precision that every value of the tree has at most; arithmetic other than products fills a float.
int bits_of(const nest::program& p, int root) {
  const node& n = p.nodes[static_cast<std::size_t>(root)];
  if (n.kind == node_kind::load) return bits_of(p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type);
  if (n.kind == node_kind::cast && is_float(n.cast_to)) return std::min(bits_of(p, n.arguments[0]), bits_of(n.cast_to));
  if (n.kind == node_kind::call && n.op == operation::multiply && n.type == value_class::real)
    return std::min(bits_of(p, n.arguments[0]) + bits_of(p, n.arguments[1]), f32_bits);
  return f32_bits;
}

/// Does f16 hold every value of the tree, its range included?
bool fits_f16(const nest::program& p, int root) {
  const node& n = p.nodes[static_cast<std::size_t>(root)];
  if (n.kind == node_kind::load) {
    const dtype type = p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type;
    return type != dtype::bf16 && bits_of(type) <= bits_of(dtype::f16);
  }
  if (n.kind == node_kind::cast && is_float(n.cast_to)) return n.cast_to == dtype::f16 || fits_f16(p, n.arguments[0]);
  return false;
}

/// Planes of bf16 whose sum is the value.
int planes_of(const nest::program& p, int root, dtype lowest) {
  const int bits = lowest == dtype::bf16  ? bits_of(dtype::bf16)
                   : lowest == dtype::f16 ? std::min(f16_planes * bf16_bits, bits_of(p, root))
                                          : bits_of(p, root);
  return (bits + bf16_bits - 1) / bf16_bits;
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
  const bool keeps = n.kind == node_kind::cast && (n.cast_to == dtype::f32 || n.cast_to == dtype::f64 || n.type == value_class::integer);
  return keeps ? bare_load(plan, n.arguments[0]) : -1;
}

/// Is the tree a load of `type`, cast or not?
bool loads(const nest::program& p, int root, dtype type) {
  const node& n = p.nodes[static_cast<std::size_t>(root)];
  if (n.kind == node_kind::cast) return loads(p, n.arguments[0], type);
  return n.kind == node_kind::load && p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type == type;
}

bool has_guards(const gemm_plan& plan) {
  return std::any_of(plan.nest.p.nodes.begin(), plan.nest.p.nodes.end(), [](const node& n) { return !n.guards.empty(); });
}

bool holds(matrix_element element, dtype type) {
  switch (element) {
    case matrix_element::bf16:
      return type == dtype::bf16;
    case matrix_element::f16:
      return type == dtype::f16;
    case matrix_element::integer8:
      return type == dtype::i8 || type == dtype::u8;
    case matrix_element::float64:
      return type == dtype::f64;
  }
  return false;
}

/// Can a tile's reader leave out what falls outside of a load? One bit of a word for each value of the outer depth says so.
bool pads_by_taps(const gemm_plan& plan, const node& load) {
  if (load.guards.empty()) return true;
  std::int64_t taps = 1;
  for (const int variable : plan.flat->depth) {
    const std::optional<std::int64_t> extent = plan.nest.extent(variable).as_constant();
    if (!extent || *extent > max_taps) return false;
    taps *= *extent;
  }
  const auto by_inner = [&](const nest::guard& g) { return g.strides.contains(plan.flat->inner.back()); };
  const auto by_batch = [&](const nest::guard& g) {
    return std::any_of(plan.nest.batch.begin(), plan.nest.batch.end(), [&](int b) { return g.strides.contains(b); });
  };
  return load.number == 0 && taps <= max_taps && std::none_of(load.guards.begin(), load.guards.end(), by_inner) &&
         std::none_of(load.guards.begin(), load.guards.end(), by_batch);
}

bool describe_operand(gemm_plan& plan, gemm_operand& operand, int root, int variable) {
  const int depth = plan.flat ? plan.flat->inner.back() : plan.nest.depth[0];
  const std::set<int> used = plan.nest.p.used(root);
  operand.root = root;
  operand.variable = variable;
  for (const int b : plan.nest.batch)
    if (used.contains(b)) operand.batch.push_back(b);
  // Integers reach the tensor cores along the depth only.
  operand.along = !plan.flat && plan.element != matrix_element::integer8 && lies_along(plan, root, variable, depth);
  if (operand.batch.size() > max_batch_dimensions || !used.contains(variable) || !used.contains(depth)) return false;

  const int load = bare_load(plan, root);
  if (load < 0) return true;
  const node& n = node_at(plan, load);
  const dtype type = plan.nest.p.ir->tensors[static_cast<std::size_t>(n.where.tensor)].type;
  operand.is_unsigned = type == dtype::u8 || type == dtype::boolean;
  const polynomial one = polynomial::constant(1);
  operand.plain = holds(plan.element, type) && n.where.stride(operand.along ? variable : depth) == one;
  if (plan.flat)
    operand.plain = operand.plain && plan.flat->inner.size() == 1 && pads_by_taps(plan, n);
  else
    operand.plain = operand.plain && n.where.offset.is_zero();
  operand.padded = operand.plain && !n.guards.empty();
  operand.at = n.where;
  return true;
}

/// What the operands are multiplied as.
void choose_elements(gemm_plan& plan, dtype lowest) {
  if (plan.nest.sums == nest::sum_kind::i32) {
    plan.element = matrix_element::integer8;
    return;
  }
  if (plan.nest.sums == nest::sum_kind::f64) {
    plan.element = matrix_element::float64;
    return;
  }
  const nest::program& p = plan.nest.p;
  plan.left.planes = planes_of(p, plan.nest.left, lowest);
  plan.right.planes = planes_of(p, plan.nest.right, lowest);
  // f16 where both operands fit (or may be rounded to it) and bf16 would do no better, or only as well but for a copy of an operand.
  const bool f16_fits = lowest == dtype::f16 || (fits_f16(p, plan.nest.left) && fits_f16(p, plan.nest.right));
  if (f16_fits &&
      (plan.left.planes * plan.right.planes > 1 || loads(p, plan.nest.left, dtype::f16) || loads(p, plan.nest.right, dtype::f16))) {
    plan.element = matrix_element::f16;
    plan.left.planes = plan.right.planes = 1;
  }
}

}  // namespace

bool gemm_plan::wide_results() const {
  return element != matrix_element::integer8 && !wide() && std::any_of(nest.steps.begin(), nest.steps.end(), [&](const nest::step& s) {
           const dtype type = nest.p.ir->tensors[static_cast<std::size_t>(s.tensor)].type;
           return s.stored && (type == dtype::f32 || type == dtype::f64);
         });
}

gemm_sizes sizes_of(const gemm_plan& plan) {
  gemm_sizes s;
  const std::vector<workload>& workloads = plan.nest.p.ir->workloads;
  std::vector<std::int64_t> axes;
  for (const axis& a : plan.nest.p.ir->axes) axes.push_back(a.extent);
  const auto heaviest =
      std::max_element(workloads.begin(), workloads.end(), [](const workload& a, const workload& b) { return a.weight < b.weight; });
  if (heaviest != workloads.end()) axes = heaviest->axes;
  for (const int variable : plan.nest.batch) s.batches *= plan.nest.extent(variable).value(axes);
  if (plan.flat) {
    const auto product = [&](auto from, auto to) {
      std::int64_t all = 1;
      for (; from != to; ++from) all *= plan.nest.extent(*from).value(axes);
      return all;
    };
    const auto padded = [](std::int64_t extent) { return (extent + 7) / 8 * 8; };
    const gemm_flattening& f = *plan.flat;
    const auto run = f.columns.end() - static_cast<std::ptrdiff_t>(f.run);
    s.rows = product(f.rows.begin(), f.rows.end());
    s.columns = product(f.columns.begin(), run) * padded(product(run, f.columns.end()));
    s.depth = product(f.depth.begin(), f.depth.end()) * padded(product(f.inner.begin(), f.inner.end()));
    return s;
  }
  s.rows = plan.nest.extent(plan.nest.row).value(axes);
  s.columns = plan.nest.extent(plan.nest.column).value(axes);
  s.depth = plan.nest.depth_extent().value(axes);
  return s;
}

std::optional<gemm_plan> plan_gemm(const tensor_ir& ir, const fusion_group& group, dtype lowest) {
  std::optional<nest::contraction_plan> read = nest::plan_contraction(ir, group);
  const bool flat = !read || read->depth.size() != 1 || read->batch.size() > max_batch_dimensions;
  if (flat) read = nest::plan_flattened(ir, group);
  if (!read || read->row < 0 || read->column < 0) return std::nullopt;
  gemm_plan plan;
  plan.nest = std::move(*read);
  if (flat ? !flatten(plan) : has_guards(plan)) return std::nullopt;

  choose_elements(plan, lowest);
  if (!describe_operand(plan, plan.left, plan.nest.left, plan.nest.row)) return std::nullopt;
  if (!describe_operand(plan, plan.right, plan.nest.right, plan.nest.column)) return std::nullopt;
  if (flat) plan_packing(plan);
  return plan;
}

}  // namespace kernsmith::agents::simt
