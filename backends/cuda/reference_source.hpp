// Generated CUDA C++ for a problem's definition: the float64 reference and the naive baseline. One kernel per statement, one thread (or,
// where few elements each reduce many terms, one block) per element. Written straight from the definition and independent of the rules
// synthesizer, so that neither can inherit the other's mistakes.
#pragma once

#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::cuda {

/// `launch` with the problem's inputs in their own dtypes; float outputs are written as f64, integer and bool outputs as i64, as
/// cpp::reference_source does. Build with generated_flags().
[[nodiscard]] result<std::string> reference_source(const problem& p);

/// `launch` with all tensors in their own dtypes and arithmetic in float (double where an operand is f64, int64 for integers), as a careful
/// newcomer would write it.
[[nodiscard]] result<std::string> naive_source(const problem& p);

/// What nvcc needs to be told about generated sources beside its usual flags.
[[nodiscard]] const std::vector<std::string>& generated_flags();

}  // namespace kernsmith::cuda
