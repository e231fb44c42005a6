// A vendor library's answer where a definition is one plain matrix product: the baseline "cublas".
#pragma once

#include <string>

#include "config/problem.hpp"

namespace kernsmith::cuda {

/// c[m,n] = sum(k: a[m,k] * b[k,n]) in any transposition, with or without a leading batch index on all three; a and b of one type of f64,
/// f32, f16, bf16, c of the same or f32. f32 without TF32. bad_request for other definitions, saying what is served. Needs -lcublas.
[[nodiscard]] result<std::string> cublas_source(const problem& p);

}  // namespace kernsmith::cuda
