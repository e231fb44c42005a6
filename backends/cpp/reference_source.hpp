// Generated C++ for a problem's definition: the float64 reference (blocked, parallel) and the naive baseline (straightforward loops).
// Written straight from the definition and independent of the rules synthesizer, so that neither can inherit the other's mistakes.
#pragma once

#include <string>

#include "config/problem.hpp"

namespace kernsmith::cpp {

/// `launch` with the problem's inputs in their own dtypes; each float output is written as f64, each integer or bool output as i64 (not
/// rounded or wrapped to the output's dtype). Intermediates are float64 / int64, except those with a declared dtype, which are rounded to
/// it.
[[nodiscard]] result<std::string> reference_source(const problem& p);

/// `launch` with all tensors in their own dtypes: one plain loop nest per statement, `#pragma omp parallel for` on the outermost free
/// index, arithmetic in float (double where an operand is f64, int64 for integers), as a careful newcomer would write it.
[[nodiscard]] result<std::string> naive_source(const problem& p);

}  // namespace kernsmith::cpp
