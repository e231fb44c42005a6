// The schedule decisions of a contraction and what the analytical model prefers.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/contraction_grammar_plan.hpp"

namespace kernsmith::agents::nest {

/// How threads share one matrix (when there are fewer matrices than threads).
enum class sharing : std::uint8_t { rows, columns, grid, depth };

struct contraction_schedule {
  bool pair_bf16 = false;  ///< multiply pairs of bf16 instead of floats
  bool dot = false;        ///< stream the right operand along the depth instead of blocking
  int tile_rows = 6;       ///< MR
  int tile_vectors = 4;    ///< NV: the register tile is MR x NV vectors
  std::int64_t depth_block = 512, row_block = 120, column_block = 1024;
  int unroll = 4;
  int prefetch = 0;  ///< depth steps ahead
  bool pack_left = true, pack_right = true;
  sharing share = sharing::rows;
  int dot_rows = 1, dot_columns = 4, dot_vectors = 1;  ///< sums kept by the dot method: rows x columns x vectors
};

/// What the plan allows, whatever is decided.
struct contraction_options {
  bool left_in_place = false;   ///< a plain load of the sums' type, so it may be read where it lies
  bool right_in_place = false;  ///< the same, contiguous along the columns
  bool pair_bf16 = false;       ///< both operands are plain bf16 loads
  bool dot = false;             ///< the right operand is contiguous along the depth
};
[[nodiscard]] contraction_options options_of(const contraction_plan& plan);

[[nodiscard]] std::vector<decision> contraction_decisions(const contraction_plan& plan, const std::string& group,
                                                          const machine_model& machine);
[[nodiscard]] contraction_schedule read_schedule(const std::string& group, const assignment& chosen);
/// See group_grammar::normalise.
void normalise_contraction(const contraction_plan& plan, const std::string& group, const machine_model& machine, assignment& chosen);

}  // namespace kernsmith::agents::nest
