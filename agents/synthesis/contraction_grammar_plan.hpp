// A fusion group read as a contraction: which index plays which part, what is multiplied, what follows the sum.
#pragma once

#include <optional>
#include <vector>

#include "agents/synthesis/contraction_grammar_expression.hpp"

namespace kernsmith::agents::nest {

/// One elementwise statement after the reduction (or the reduction itself): value `id` of the nest.
struct step {
  int statement = -1;
  int tensor = -1;
  int root = -1;  ///< tree; -1 for the reduction itself
  value_class type = value_class::real;
  bool stored = false;
  bool rounds = false;  ///< later readers see the value rounded to the tensor's declared type
  linear_form target;   ///< where the value goes, by loop variables
};

/// What the sums are kept in.
enum class sum_kind : std::uint8_t { f32, f64, i32 };

/// sum over `depth` of left(batch, row, depth) * right(batch, column, depth), finished by `steps`.
struct contraction_plan {
  program p;
  sum_kind sums = sum_kind::f32;
  std::vector<int> batch;                    ///< loop variables outside of the matrices
  int row = -1;                              ///< -1: one row (GEMV)
  int column = -1;                           ///< along the lanes
  std::vector<int> depth;                    ///< outermost first; more than one only when they don't collapse
  int left = -1, right = -1;                 ///< trees
  std::vector<int> row_outer, column_outer;  ///< plan_flattened: walked together with row and column, outermost first
  std::vector<step> steps;                   ///< steps[0] is the sum
  std::vector<int> stored;                   ///< intermediates that are written

  [[nodiscard]] polynomial extent(int variable) const;
  [[nodiscard]] polynomial depth_extent() const;
};

/// `window`: the reduction must be a window (a convolution as an implicit matrix product, padded loads allowed) instead of none.
[[nodiscard]] std::optional<contraction_plan> plan_contraction(const tensor_ir& ir, const fusion_group& group, bool window = false);

/// The same for rows, columns and depths of any number of indices, none of which becomes a batch for want of a place; windows and padded
/// loads allowed. Indices that a load walks together (node::windows) are never merged with others.
[[nodiscard]] std::optional<contraction_plan> plan_flattened(const tensor_ir& ir, const fusion_group& group);

/// The statements after the reduction as steps over its loop variables (`variables` per dimension of the reduction's target). Fills `steps`
/// (steps[0] is the reduction) and `stored`. False when one of them isn't elementwise on it.
[[nodiscard]] bool plan_steps(const tensor_ir& ir, const fusion_group& group, int reduction, program& p, const std::vector<int>& variables,
                              std::vector<step>& steps, std::vector<int>& stored);
/// Declares the producers before the reduction as tensors to inline. False when one is needed elsewhere or isn't elementwise.
[[nodiscard]] bool plan_producers(const tensor_ir& ir, const fusion_group& group, int reduction, program& p);
/// The one reduction of the group, or -1 when there is none or more than one.
[[nodiscard]] int sole_reduction(const tensor_ir& ir, const fusion_group& group);

}  // namespace kernsmith::agents::nest
