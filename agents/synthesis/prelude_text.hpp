// The prelude's pieces as text. Each is valid C++17 for GCC on x86-64 with AVX2 + FMA + F16C, or with the AVX-512 of x86-64-v4.
#pragma once

#include <string_view>

namespace kernsmith::agents::prelude {

// Style of the text, which emitted_name() relies on: every function starts its line with "static inline" (or ends a "template <...> static
// inline" line), every type is introduced by "struct" or "typedef" at the start of a line, constants are called ks_... or KS_....
extern const std::string_view types_text;
extern const std::string_view simd_text;
extern const std::string_view simd_memory_text;  ///< second half of "simd": loads, stores, conversions
extern const std::string_view simd64_text;
extern const std::string_view exp_text;
extern const std::string_view exp_f64_text;
extern const std::string_view log_text;
extern const std::string_view log_f64_text;
extern const std::string_view tanh_text;
extern const std::string_view tanh_f64_text;
extern const std::string_view erf_text;
extern const std::string_view erf_f64_text;
extern const std::string_view sigmoid_text;
extern const std::string_view sigmoid_f64_text;
extern const std::string_view log1p_text;
extern const std::string_view log1p_f64_text;
extern const std::string_view expm1_text;
extern const std::string_view expm1_f64_text;
extern const std::string_view sincos_text;
extern const std::string_view sincos_f64_text;
extern const std::string_view pow_text;
extern const std::string_view pow_f64_text;
extern const std::string_view rsqrt_text;
extern const std::string_view rsqrt_f64_text;

}  // namespace kernsmith::agents::prelude
