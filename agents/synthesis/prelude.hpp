// Pieces of source text that emitted kernels are built on: storage types, SIMD vectors, vector math. Each piece is readable C++ and is put
// into a kernel only when a grammar asks for it (with the pieces it depends on). Everything is static inline in the emitted file.
//
// "types"
//   ks_bf16, ks_f8e4m3, ks_f8e5m2: structs around the bits.
//   float to_float(T), T from_float<T>(float), double to_double(T), T from_double<T>(double) for every storage type: floats round to
//   nearest-even, integers truncate and saturate (NaN becomes 0).
//   ks_min, ks_max (a NaN on either side wins), ks_sigmoid on scalars; ks_add, ks_subtract, ks_multiply: int64 arithmetic that wraps;
//   T ks_saturate<T>(x): the cast to an integer type.
// "simd"
//   KS_VECTOR_BYTES (64 with the AVX-512 of x86-64-v4, else 32), VL = KS_VECTOR_BYTES / 4, vf (VL floats), vi (VL int32s): compiler vector
//   extensions, so + - * / work, and comparisons give vi masks of 0 / -1.
//   vf vload(const T*), void vstore(T*, vf) for every storage type T, converting as above.
//   vf vload_n(const T*, int n), void vstore_n(T*, vf, int n): the first n lanes (others 0 / untouched); memory beyond is never touched.
//   vi viload(const T*), vistore (wrapping), viload_n, vistore_n for the integer types up to 32 bits.
//   vset(float), vseti(int32_t), vselect(mask, a, b), vfirst(n): mask of the first n lanes, vany(mask), vall(mask).
//   vmin vmax (a NaN on either side wins); vmin_raw vmax_raw: one instruction, the second operand wins.
//   vabs vfma(a, b, c) vfloor vceil vround (half to even) vtrunc vsqrt vcopysign; to_vf(vi), to_vi(vf) (truncating); vgather(p, vi).
//   hsum hprod hmax hmin: over the lanes.
// "simd64"
//   vd (VLD = VL / 2 doubles), vl (VLD int64s) and the same functions by overload; loads and stores are vloadd, vstored, vloadd_n,
//   vstored_n, and vlload, vlstore (wrapping), vlload_n, vlstore_n; vsetd, vsetl, vfirstd; to_vd(vl), to_vl(vd).
//   vlow(vf), vhigh(vf) widen one half; vjoin(vd, vd) rounds both into a vf.
// "exp" "log" "log1p" "expm1" "tanh" "erf" "sigmoid" "sincos" "pow" "rsqrt"
//   vexp vlog vlog1p vexpm1 vtanh verf vsigmoid vsin vcos vpow(a, b) vrsqrt on vf; together with "simd64" on vd too. The ulp bound stands
//   in each one's comment; the tests measure it.
#pragma once

#include <set>
#include <string>

#include "config/dtype.hpp"

namespace kernsmith::agents {

/// The text of `pieces` and everything they depend on, each once, in dependency order. Asserts that every name is known.
[[nodiscard]] std::string prelude_text(const std::set<std::string>& pieces);

/// C++ type of a stored element: "float", "ks_bf16", "_Float16", "int32_t", ...
[[nodiscard]] std::string storage_type(dtype type);

/// `name` made safe as an identifier in emitted sources (keywords, names of the prelude and of libc).
[[nodiscard]] std::string emitted_name(const std::string& name);

}  // namespace kernsmith::agents
