// Pieces of source text that emitted kernels are built on: storage types, SIMD vectors, vector math. Each piece is readable C++ and is put
// into a kernel only when a grammar asks for it (with the pieces it depends on).
//
// Names that grammars may use (all static inline in the emitted file):
//  piece "types": ks_bf16, ks_f8e4m3, ks_f8e5m2 (structs around the bits), `float to_float(T)` and `T from_float<T>(float)` for every
//  storage
//     type (_Float16 too; integers: truncated and saturated), double likewise: to_double / from_double<T>.
//  piece "simd": KS_VECTOR_BYTES (64 with __AVX512F__, else 32); VL = KS_VECTOR_BYTES / 4 lanes; vf (VL floats), vi (VL int32), compiler
//  vector extensions, so that
//     + - * / and comparisons (giving vi masks of 0 / -1) work; vf vload(const T*) and void vstore(T*, vf) for every storage type T
//     (converting); vf vload_n(const T*, int n), void vstore_n(T*, vf, int n): the first n lanes (others 0 / untouched; never touch memory
//     beyond); vf vset(float); vi vseti(int32_t); vf vselect(vi mask, vf a, vf b); vmin vmax (a NaN on either side wins; vmin_raw vmax_raw:
//     one instruction, the second operand wins) vabs vfma(a,b,c) vfloor vceil vround (half even) vsqrt; float hsum(vf) hprod(vf) hmax(vf)
//     hmin(vf); int32_t hsum(vi) hmax(vi) hmin(vi); bool vany(vi) vall(vi); vi vfirst(n): mask of the first n lanes; vi viload(const T*),
//     vistore (wrapping), viload_n, vistore_n for the integer types up to 32 bits; vf to_vf(vi), vi to_vi(vf) (truncating); vf
//     vgather(const float*, vi).
//  piece "simd64": vd (VL/2 doubles), vl (VL/2 int64), and the same functions by overload: vloadd(const T*), vstored, vloadd_n, vstored_n,
//  vsetd, vsetl, vselect, vmin, ..., hsum;
//     vl vlload(const T*), vlstore (wrapping), vlload_n, vlstore_n for all integer types; to_vd(vl), to_vl(vd); vlow(vf), vhigh(vf) widen
//     one half, vjoin(vd, vd) rounds both into a vf; VLD = VL / 2.
//  pieces "exp" "log" "tanh" "erf" "sigmoid" "log1p" "expm1" "sincos" "pow" "rsqrt": vf vexp(vf), vlog, vtanh, verf, vsigmoid, vlog1p,
//  vexpm1, vsin, vcos, vpow(a,b), vrsqrt;
//     with "simd64" also overloads on vd (accurate to double where a double input demands it). Each states its ulp bound in a comment; the
//     tests measure it.
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
