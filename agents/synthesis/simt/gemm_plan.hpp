// A fusion group read as a matrix product for tensor cores: what each operand is made of, and how it reaches shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/contraction_grammar_plan.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {

/// What the tensor cores multiply. Sums are f32, exact int32 for integers of 8 bits, f64 for f64.
enum class matrix_element : std::uint8_t { bf16, f16, integer8, float64 };

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
};

/// left(batch, row, depth) * right(batch, column, depth), summed over depth, finished by the steps of `nest`.
struct gemm_plan {
  nest::contraction_plan nest;
  matrix_element element = matrix_element::bf16;
  gemm_operand left, right;

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

/// Nothing when the group is no matrix product that tensor cores can do as precisely as the definition asks.
/// `lowest`: operands may be rounded to this type (precision_contract::lowest).
[[nodiscard]] std::optional<gemm_plan> plan_gemm(const tensor_ir& ir, const fusion_group& group, dtype lowest);

}  // namespace kernsmith::agents::simt
