// OpenCL C that emitted kernels are built on. What a kernel calls is told by its text.
//
//   ks_larger_float8(a, b)     elementwise, a NaN on either side wins; ks_smaller_... likewise, for float and double
//   ks_fold_sum_float8(v)      one value of a vector's elements; also product, larger, smaller (reals), or, and, largest, smallest
//   (integers) ks_from_f16x8(v)           float8 of stored halves, and ks_to_f16x8(v) back, to nearest even; bf16 likewise
//   ks_fast_pow8(x, y)         pow by exp and log where every x is positive
//   ks_saturated(...) ...      the scalar functions of vector_c_prelude.hpp
#pragma once

#include <string>

namespace kernsmith::agents::opencl {

/// The prelude for kernels that call what `functions` calls.
[[nodiscard]] std::string opencl_prelude_text(const std::string& functions);

}  // namespace kernsmith::agents::opencl
