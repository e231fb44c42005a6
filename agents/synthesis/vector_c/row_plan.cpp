#include "agents/synthesis/vector_c/row_plan.hpp"

#include <algorithm>

#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/vector_c/vector_expression.hpp"

namespace kernsmith::agents::vector_c {
namespace {

const statement& statement_of(const tensor_ir& ir, int id) {
  return ir.statements[static_cast<std::size_t>(id)];
}

const expression& root_of(const statement& s) {
  return s.nodes[static_cast<std::size_t>(s.root)];
}

const dim& extent(const statement& s, int variable) {
  return s.variables[static_cast<std::size_t>(variable)].extent;
}

bool is_row_reduce(const statement& s) {
  const expression& root = root_of(s);
  const bool known = root.reducer == reduction::sum || root.reducer == reduction::max || root.reducer == reduction::min;
  return root.kind == expression_kind::reduce && known && root.bound.size() == 1 && root.type == value_class::real;
}

/// Number of row indices: what reductions keep, or all but the last of a target that nothing reduces.
std::optional<std::size_t> count_rows(const tensor_ir& ir, const fusion_group& group) {
  std::optional<std::size_t> rows;
  std::size_t widest = 0;
  for (const int id : group.statements) {
    const statement& s = statement_of(ir, id);
    widest = std::max(widest, s.target_indices.size());
    if (root_of(s).kind != expression_kind::reduce) continue;
    if (rows && *rows != s.target_indices.size()) return std::nullopt;
    rows = s.target_indices.size();
  }
  if (!rows) return widest == 0 ? std::nullopt : std::optional(widest - 1);
  return widest > *rows + 1 ? std::nullopt : rows;
}

/// The statement's part, if it has one; extents of the row indices and of the inner one must be those of the others.
std::optional<planned_statement> part_of(const tensor_ir& ir, int id, std::size_t rows, const std::vector<dim>& row_extents,
                                         std::optional<dim>& inner_extent) {
  const statement& s = statement_of(ir, id);
  planned_statement planned;
  planned.id = id;
  if (ir.tensors[static_cast<std::size_t>(s.target)].type != dtype::f32 || needs_double(ir, s)) return std::nullopt;
  if (s.target_indices.size() < rows) return std::nullopt;
  for (std::size_t r = 0; r < rows; ++r)
    if (!(extent(s, s.target_indices[r]) == row_extents[r])) return std::nullopt;
  if (is_row_reduce(s) && s.target_indices.size() == rows) {
    planned.part = row_part::row_reduce;
    planned.inner = root_of(s).bound[0];
  } else if (root_of(s).kind == expression_kind::reduce || root_of(s).kind == expression_kind::scan) {
    return std::nullopt;
  } else if (s.target_indices.size() == rows + 1) {
    planned.inner = s.target_indices.back();
  } else {
    planned.part = row_part::row_map;
  }
  if (root_of(s).type != value_class::real) return std::nullopt;
  if (planned.inner < 0) return s.variables.size() == rows ? std::optional(planned) : std::nullopt;
  if (s.variables.size() != rows + 1) return std::nullopt;
  if (inner_extent && !(*inner_extent == extent(s, planned.inner))) return std::nullopt;
  inner_extent = extent(s, planned.inner);
  const int value = planned.part == row_part::row_reduce ? root_of(s).arguments[0] : s.root;
  if (!vectorises(ir, s, value, planned.inner)) return std::nullopt;
  if (s.nodes[static_cast<std::size_t>(value)].type != value_class::real) return std::nullopt;
  return planned;
}

/// Loads of what the group itself computes must be of the same row and element: those never leave registers or the row's memory.
bool reads_own_place(const tensor_ir& ir, const row_plan& plan, const statement& s, int inner, const expression& load) {
  if (plan.producer(ir, load.symbol) == nullptr) return true;
  for (std::size_t d = 0; d < load.indices.size(); ++d) {
    const int sole = sole_index(load.indices[d]);
    if (sole < 0 || sole != (d < plan.rows ? s.target_indices[d] : inner)) return false;
  }
  return true;
}

/// After every reduction that it reads, and not before anything else it reads.
int level_of(const tensor_ir& ir, const row_plan& plan, const statement& s) {
  int level = 0;
  for (const expression& e : s.nodes) {
    if (e.kind != expression_kind::load) continue;
    const planned_statement* from = plan.producer(ir, e.symbol);
    if (from != nullptr) level = std::max(level, from->level + (from->part == row_part::row_reduce ? 1 : 0));
  }
  return level;
}

void note_operations(const tensor_ir& ir, const planned_statement& planned, row_plan& plan) {
  const statement& s = statement_of(ir, planned.id);
  for (const expression& e : s.nodes) {
    if (e.kind != expression_kind::call || planned.inner < 0) continue;
    plan.has_exp |= e.op == operation::exp || e.op == operation::sigmoid;
    plan.divides_by_rows |=
        e.op == operation::divide && depends_on(s, e.arguments[0], planned.inner) && !depends_on(s, e.arguments[1], planned.inner);
  }
}

}  // namespace

const planned_statement* row_plan::producer(const tensor_ir& ir, int tensor) const {
  for (const planned_statement& planned : statements)
    if (statement_of(ir, planned.id).target == tensor) return &planned;
  return nullptr;
}

std::optional<row_plan> plan_rows(const tensor_ir& ir, const fusion_group& group) {
  const auto rows = count_rows(ir, group);
  if (!rows) return std::nullopt;
  row_plan plan;
  plan.rows = *rows;
  const statement& first = statement_of(ir, group.statements.front());
  if (first.target_indices.size() < plan.rows) return std::nullopt;
  std::vector<dim> row_extents;
  for (std::size_t r = 0; r < plan.rows; ++r) row_extents.push_back(extent(first, first.target_indices[r]));
  std::optional<dim> inner_extent;
  for (const int id : group.statements) {
    auto planned = part_of(ir, id, plan.rows, row_extents, inner_extent);
    if (!planned) return std::nullopt;
    const statement& s = statement_of(ir, id);
    for (const expression& e : s.nodes)
      if (e.kind == expression_kind::load && !reads_own_place(ir, plan, s, planned->inner, e)) return std::nullopt;
    planned->level = level_of(ir, plan, s);
    plan.sweeps = std::max(plan.sweeps, planned->level + (planned->inner >= 0 ? 1 : 0));
    note_operations(ir, *planned, plan);
    plan.statements.push_back(*planned);
  }
  if (!inner_extent) return std::nullopt;
  for (const planned_statement& planned : plan.statements) {
    const int target = statement_of(ir, planned.id).target;
    if (planned.part != row_part::vector_map) continue;
    const bool again = std::any_of(plan.statements.begin(), plan.statements.end(), [&](const planned_statement& reader) {
      const statement& s = statement_of(ir, reader.id);
      return reader.level > planned.level && std::any_of(s.nodes.begin(), s.nodes.end(), [&](const expression& e) {
               return e.kind == expression_kind::load && e.symbol == target;
             });
    });
    if (again) plan.revisited.push_back(target);
  }
  return plan;
}

}  // namespace kernsmith::agents::vector_c
