// A baseline that calls OpenBLAS, for definitions that are one plain matrix product or matrix-vector product.
#pragma once

#include <string>

#include "config/problem.hpp"

namespace kernsmith::cpp {

/// Source of a `launch` that calls cblas_{s,d}gemm or cblas_{s,d}gemv; links with -lopenblas. bad_request, with what would be accepted, for
/// any other definition.
[[nodiscard]] result<std::string> blas_source(const problem& p);

}  // namespace kernsmith::cpp
