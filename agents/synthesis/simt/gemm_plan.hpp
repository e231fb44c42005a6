// A fusion group read as a matrix product for tensor cores: what each operand is made of, and how it reaches shared memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/contraction_grammar_plan.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {

/// What the tensor cores multiply. Sums are f32, exact int32 for integers of 8 bits, f64 for f64.
enum class matrix_element : std::uint8_t { bf16, f16, integer8, float64 };

/// A loop variable of gemm_operand::packed that stands for several of the plan that an operand only has together, the sum of factor *
/// variable
/// + `least`, counted from 0: p + r of a convolution, which has fewer values than p and r have pairs.
struct gemm_window {
  int variable = -1;
  std::map<int, std::int64_t> factors;
  nest::polynomial least;  ///< zero or less
};

struct gemm_operand {
  int root = -1;      ///< tree of contraction_plan::p
  int variable = -1;  ///< loop variable of its rows (left) or columns (right)
  /// Its values are the sum of so many matrix elements, exactly (3 for f32 up to one part in 2^24).
  int planes = 1;
  bool plain = false;        ///< a load of matrix elements, which can be copied from where it lies if strides are multiples of 16 bytes
  bool is_unsigned = false;  ///< integer8: u8 or bool instead of i8
  bool along = false;        ///< contiguous along `variable` instead of along the depth
  nest::linear_form at;      ///< plain: where it lies
  std::vector<int> batch;    ///< batch variables that it depends on, in the order of the plan

  // Flattened plans: how it is packed, [lines][inner indices of the depth].
  nest::program packed;    ///< the plan's with windows as variables of their own
  int packed_root = -1;    ///< of `packed`
  std::vector<int> lines;  ///< variables of `packed`, outermost first, batch before all others
  std::vector<gemm_window> windows;
  bool padded = false;  ///< plain, but what falls outside is zero: some taps of some lines
};

/// Rows, columns or depth made of several indices, walked in the order of nested loops.
struct gemm_flattening {
  std::vector<int> rows, columns;  ///< outermost first; the last ones are contraction_plan::row and column
  std::size_t run = 1;             ///< so many of the last columns are contiguous in all that follows the sum; padded to multiples of 8
  std::vector<int> depth;          ///< outermost first, but for
  std::vector<int> inner;          ///< those that packed operands hold contiguously, padded to whole pieces
  // What follows the sum, with indices merged where that allows it.
  nest::contraction_plan finish;
  std::vector<int> finish_rows, finish_columns;  ///< finish_columns: but for the run, which is finish.column
};

/// left(batch, row, depth) * right(batch, column, depth), summed over depth, finished by the steps of `nest`.
struct gemm_plan {
  nest::contraction_plan nest;
  matrix_element element = matrix_element::bf16;
  gemm_operand left, right;
  std::optional<gemm_flattening> flat;  ///< convolutions and the like: operands are gathered by addresses

  [[nodiscard]] int element_bytes() const { return element == matrix_element::integer8 ? 1 : wide() ? 8 : 2; }
  /// Is everything computed in f64?
  [[nodiscard]] bool wide() const { return element == matrix_element::float64; }
  /// Elements that an operand's rows must be multiples of to be copied in pieces of 16 bytes.
  [[nodiscard]] int row_unit() const { return 16 / element_bytes(); }
  /// Is a result stored with more bits than the tensor cores' own sums keep over a long depth?
  [[nodiscard]] bool wide_results() const;
  [[nodiscard]] bool emulated() const { return left.planes > 1 || right.planes > 1; }
};

/// Extents under the heaviest workload.
struct gemm_sizes {
  std::int64_t batches = 1, rows = 1, columns = 1, depth = 1;
};
[[nodiscard]] gemm_sizes sizes_of(const gemm_plan& plan);

/// Turns a plan of plan_flattened into a flattened one. False when there is no depth to lie contiguously.
[[nodiscard]] bool flatten(gemm_plan& plan);
/// Says how the described operands of a flattened plan are packed.
void plan_packing(gemm_plan& plan);

/// Nothing when the group is no matrix product that tensor cores can do as precisely as the definition asks.
/// `lowest`: operands may be rounded to this type (precision_contract::lowest).
[[nodiscard]] std::optional<gemm_plan> plan_gemm(const tensor_ir& ir, const fusion_group& group, dtype lowest);

}  // namespace kernsmith::agents::simt
