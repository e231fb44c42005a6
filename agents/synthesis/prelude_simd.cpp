// Prelude piece "simd", first half: the float and int32 vectors and their arithmetic.
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view simd_text = R"kernel(// ---- SIMD: VL floats (vf) or int32s (vi) per register ----
// Arithmetic and comparisons are the compiler's own (+ - * / < ==, ...); a comparison gives a vi
// mask of 0 or -1 per lane.
#include <immintrin.h>

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define KS_AVX512 1
#define KS_VECTOR_BYTES 64
#else
#define KS_AVX512 0
#define KS_VECTOR_BYTES 32
#endif

static constexpr int VL = KS_VECTOR_BYTES / 4;  // lanes of a vf
typedef float vf __attribute__((vector_size(KS_VECTOR_BYTES)));
typedef int32_t vi __attribute__((vector_size(KS_VECTOR_BYTES)));
typedef uint32_t ks_vu __attribute__((vector_size(KS_VECTOR_BYTES)));

static inline vf vset(float x) { return x - vf{}; }
static inline vi vseti(int32_t x) { return x - vi{}; }
static inline vf vselect(vi mask, vf a, vf b) { return mask ? a : b; }
static inline vi vselect(vi mask, vi a, vi b) { return mask ? a : b; }
static inline vi ks_lanes() {  // 0, 1, 2, ...
#if KS_AVX512
  return vi{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#else
  return vi{0, 1, 2, 3, 4, 5, 6, 7};
#endif
}
static inline vi vfirst(int n) { return ks_lanes() < n; }  // mask of the first n lanes

// One instruction; the second operand wins when either is NaN: vmax_raw(x, m) keeps m when x is
// NaN, vmax_raw(m, x) takes x.
#if KS_AVX512
static inline vf vmin_raw(vf a, vf b) { return (vf)_mm512_min_ps((__m512)a, (__m512)b); }
static inline vf vmax_raw(vf a, vf b) { return (vf)_mm512_max_ps((__m512)a, (__m512)b); }
#else
static inline vf vmin_raw(vf a, vf b) { return (vf)_mm256_min_ps((__m256)a, (__m256)b); }
static inline vf vmax_raw(vf a, vf b) { return (vf)_mm256_max_ps((__m256)a, (__m256)b); }
#endif
// A NaN in either operand gives NaN, as the definition language has it.
static inline vf vmin(vf a, vf b) { return vselect(a != a, a, vmin_raw(a, b)); }
static inline vf vmax(vf a, vf b) { return vselect(a != a, a, vmax_raw(a, b)); }
static inline vi vmin(vi a, vi b) { return a < b ? a : b; }
static inline vi vmax(vi a, vi b) { return a > b ? a : b; }
static inline vf vabs(vf x) { return (vf)((vi)x & 0x7fffffff); }
static inline vi vabs(vi x) { return x < 0 ? -x : x; }
static inline vf vcopysign(vf magnitude, vf sign) { return (vf)(((vi)magnitude & 0x7fffffff) | ((vi)sign & (int32_t)0x80000000)); }

#if KS_AVX512
static inline vf vfma(vf a, vf b, vf c) { return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
static inline vf vfloor(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, 0x09); }
static inline vf vceil(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, 0x0a); }
static inline vf vround(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, 0x08); }  // half to even
static inline vf vtrunc(vf x) { return (vf)_mm512_roundscale_ps((__m512)x, 0x0b); }
static inline vf vsqrt(vf x) { return (vf)_mm512_sqrt_ps((__m512)x); }
static inline vf to_vf(vi x) { return (vf)_mm512_cvtepi32_ps((__m512i)x); }
static inline vi to_vi(vf x) { return (vi)_mm512_cvttps_epi32((__m512)x); }  // truncates; out of range and NaN: INT32_MIN
static inline vf vgather(const float* p, vi index) { return (vf)_mm512_i32gather_ps((__m512i)index, p, 4); }
static inline vi vgather(const int32_t* p, vi index) { return (vi)_mm512_i32gather_epi32((__m512i)index, p, 4); }
static inline bool vany(vi mask) { return _mm512_movepi32_mask((__m512i)mask) != 0; }
static inline bool vall(vi mask) { return _mm512_movepi32_mask((__m512i)mask) == 0xffff; }
#else
static inline vf vfma(vf a, vf b, vf c) { return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
static inline vf vfloor(vf x) { return (vf)_mm256_round_ps((__m256)x, 0x09); }
static inline vf vceil(vf x) { return (vf)_mm256_round_ps((__m256)x, 0x0a); }
static inline vf vround(vf x) { return (vf)_mm256_round_ps((__m256)x, 0x08); }  // half to even
static inline vf vtrunc(vf x) { return (vf)_mm256_round_ps((__m256)x, 0x0b); }
static inline vf vsqrt(vf x) { return (vf)_mm256_sqrt_ps((__m256)x); }
static inline vf to_vf(vi x) { return (vf)_mm256_cvtepi32_ps((__m256i)x); }
static inline vi to_vi(vf x) { return (vi)_mm256_cvttps_epi32((__m256)x); }  // truncates; out of range and NaN: INT32_MIN
static inline vf vgather(const float* p, vi index) { return (vf)_mm256_i32gather_ps(p, (__m256i)index, 4); }
static inline vi vgather(const int32_t* p, vi index) { return (vi)_mm256_i32gather_epi32(p, (__m256i)index, 4); }
static inline bool vany(vi mask) { return _mm256_movemask_ps((__m256)mask) != 0; }
static inline bool vall(vi mask) { return _mm256_movemask_ps((__m256)mask) == 0xff; }
#endif
static inline vf vfma(float a, vf b, vf c) { return vfma(vset(a), b, c); }

// Lane reductions: halves are combined until one lane is left.
#if KS_AVX512
static inline __m256 ks_low(vf x) { return _mm512_castps512_ps256((__m512)x); }
static inline __m256 ks_high(vf x) { return _mm512_extractf32x8_ps((__m512)x, 1); }
static inline __m256i ks_low(vi x) { return _mm512_castsi512_si256((__m512i)x); }
static inline __m256i ks_high(vi x) { return _mm512_extracti64x4_epi64((__m512i)x, 1); }
#endif
template <class F>
static inline float ks_fold(vf x, F combine) {
#if KS_AVX512
  const __m256 y = combine(ks_low(x), ks_high(x));
#else
  const __m256 y = (__m256)x;
#endif
  __m128 z = combine(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
  z = combine(z, _mm_movehl_ps(z, z));
  z = combine(z, _mm_shuffle_ps(z, z, 0x55));
  return _mm_cvtss_f32(z);
}
static inline float hsum(vf x) {
  return ks_fold(x, [](auto a, auto b) { return a + b; });
}
static inline float hprod(vf x) {
  return ks_fold(x, [](auto a, auto b) { return a * b; });
}
static inline float hmax(vf x) {
  return ks_fold(x, [](auto a, auto b) { return (a > b) | (a != a) ? a : b; });
}
static inline float hmin(vf x) {
  return ks_fold(x, [](auto a, auto b) { return (a < b) | (a != a) ? a : b; });
}
template <class F>
static inline int32_t ks_fold(vi x, F combine) {
  int32_t total = x[0];
  for (int lane = 1; lane < VL; ++lane) total = combine(total, x[lane]);
  return total;
}
static inline int32_t hsum(vi x) {
  return ks_fold(x, [](int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); });
}
static inline int32_t hmax(vi x) {
  return ks_fold(x, [](int32_t a, int32_t b) { return a > b ? a : b; });
}
static inline int32_t hmin(vi x) {
  return ks_fold(x, [](int32_t a, int32_t b) { return a < b ? a : b; });
}
)kernel";

}  // namespace kernsmith::agents::prelude
