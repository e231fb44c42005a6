// Prelude piece "simd", second half: loads and stores of vectors from every storage type.
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view simd_memory_text = R"kernel(// ---- vector loads and stores, converting from and to every storage type ----
typedef float ks_vf_any __attribute__((vector_size(KS_VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t ks_vi_any __attribute__((vector_size(KS_VECTOR_BYTES), aligned(4), may_alias));
#if KS_AVX512
typedef __m256i ks_v16;  // VL 16-bit lanes
typedef __m128i ks_v8;   // VL 8-bit lanes
static inline ks_v16 ks_load16(const void* p) { return _mm256_loadu_si256((const __m256i*)p); }
static inline ks_v8 ks_load8(const void* p) { return _mm_loadu_si128((const __m128i*)p); }
static inline void ks_store16(void* p, ks_v16 x) { _mm256_storeu_si256((__m256i*)p, x); }
static inline void ks_store8(void* p, ks_v8 x) { _mm_storeu_si128((__m128i*)p, x); }
static inline vi ks_widen(ks_v16 x) { return (vi)_mm512_cvtepi16_epi32(x); }
static inline vi ks_widen_unsigned(ks_v16 x) { return (vi)_mm512_cvtepu16_epi32(x); }
static inline vi ks_widen8(ks_v8 x) { return (vi)_mm512_cvtepi8_epi32(x); }
static inline vi ks_widen8_unsigned(ks_v8 x) { return (vi)_mm512_cvtepu8_epi32(x); }
static inline ks_v16 ks_narrow16(vi x) { return _mm512_cvtepi32_epi16((__m512i)x); }  // keeps the low bits
static inline ks_v8 ks_narrow8(vi x) { return _mm512_cvtepi32_epi8((__m512i)x); }
static inline vf ks_from_half(ks_v16 x) { return (vf)_mm512_cvtph_ps(x); }
static inline ks_v16 ks_to_half(vf x) { return _mm512_cvtps_ph((__m512)x, 0x08); }
#else
typedef __m128i ks_v16;  // VL 16-bit lanes
typedef __m128i ks_v8;   // VL 8-bit lanes, in the lower half
static inline ks_v16 ks_load16(const void* p) { return _mm_loadu_si128((const __m128i*)p); }
static inline ks_v8 ks_load8(const void* p) { return _mm_loadl_epi64((const __m128i*)p); }
static inline void ks_store16(void* p, ks_v16 x) { _mm_storeu_si128((__m128i*)p, x); }
static inline void ks_store8(void* p, ks_v8 x) { _mm_storel_epi64((__m128i*)p, x); }
static inline vi ks_widen(ks_v16 x) { return (vi)_mm256_cvtepi16_epi32(x); }
static inline vi ks_widen_unsigned(ks_v16 x) { return (vi)_mm256_cvtepu16_epi32(x); }
static inline vi ks_widen8(ks_v8 x) { return (vi)_mm256_cvtepi8_epi32(x); }
static inline vi ks_widen8_unsigned(ks_v8 x) { return (vi)_mm256_cvtepu8_epi32(x); }
static inline ks_v16 ks_narrow16(vi x) {  // keeps the low bits
  const vi low = x & 0xffff;
  return _mm_packus_epi32(_mm256_castsi256_si128((__m256i)low), _mm256_extracti128_si256((__m256i)low, 1));
}
static inline ks_v8 ks_narrow8(vi x) { return _mm_packus_epi16(ks_narrow16(x & 0xff), _mm_setzero_si128()); }
static inline vf ks_from_half(ks_v16 x) { return (vf)_mm256_cvtph_ps(x); }
static inline ks_v16 ks_to_half(vf x) { return _mm256_cvtps_ph((__m256)x, 0); }
#endif

// The vector forms of ks_to_f8 and ks_from_f8.
template <int kExponent, int kFraction, bool kHasInfinity>
static inline vi ks_to_f8(vf x) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  constexpr int32_t infinity = ((1 << kExponent) - 1) << kFraction;
  constexpr int32_t nan = kHasInfinity ? infinity | 2 : infinity | ((1 << kFraction) - 1);
  constexpr int32_t largest = kHasInfinity ? infinity - 1 : nan - 1;
  constexpr int32_t overflow = kHasInfinity ? infinity : nan;
  constexpr int32_t magic = (127 + 23 - (bias - 1 + kFraction)) << 23;
  const vi magnitude = (vi)x & 0x7fffffff, sign = ((vi)x >> 24) & 0x80;
  const vi half = ((1 << (22 - kFraction)) - 1) + ((magnitude >> (23 - kFraction)) & 1);
  const vi normal = ((magnitude + half) >> (23 - kFraction)) - ((127 - bias) << kFraction);
  const vi subnormal = (vi)((vf)magnitude + (vf)vseti(magic)) - magic;
  vi code = vselect(magnitude >= ((127 - bias + 1) << 23), normal, subnormal);
  code = vselect(code > largest, vseti(overflow), code);
  code = vselect(magnitude > 0x7f800000, vseti(nan), code);
  return code | sign;
}
template <int kExponent, int kFraction, bool kHasInfinity>
static inline vf ks_from_f8(vi bits) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  constexpr int32_t infinity = ((1 << kExponent) - 1) << kFraction;
  const vi sign = (bits & 0x80) << 24, code = bits & 0x7f;
  const vf value = (vf)(code << (23 - kFraction)) * vset(ks_float(uint32_t(127 + 127 - bias) << 23));
  vi u = (vi)value;
  if (kHasInfinity)
    u = vselect(code >= infinity, (code << (23 - kFraction)) | 0x7f800000, u);
  else
    u = vselect(code == (infinity | ((1 << kFraction) - 1)), vseti(0x7fc00000), u);
  return (vf)(u | sign);
}

// Rounds to nearest-even. (vcvtneps2bf16 isn't used: it flushes subnormals to zero.)
static inline vi ks_to_bf16(vf x) {
  const ks_vu u = (ks_vu)x;
  const vi rounded = (vi)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  return vselect(x != x, (vi)((u >> 16) | 0x40), rounded);
}

// Truncated and saturated to [low, high] of an integer type of at most 16 bits; NaN becomes
// 0.
static inline vi ks_saturate(vf x, float low, float high) {
  return to_vi(vmin_raw(vmax_raw(vselect(x == x, x, vf{}), vset(low)), vset(high)));
}
static inline vi ks_saturate32(vf x) {
  const vi whole = to_vi(vselect(x == x, x, vf{}));
  return vselect(x >= 2147483648.0f, vseti(2147483647), whole);
}

static inline vf vload(const float* p) { return *(const ks_vf_any*)p; }
static inline vf vload(const _Float16* p) { return ks_from_half(ks_load16(p)); }
static inline vf vload(const ks_bf16* p) { return (vf)(ks_widen_unsigned(ks_load16(p)) << 16); }
static inline vf vload(const ks_f8e4m3* p) { return ks_from_f8<4, 3, false>(ks_widen8_unsigned(ks_load8(p))); }
static inline vf vload(const ks_f8e5m2* p) { return ks_from_half((ks_v16)ks_narrow16(ks_widen8_unsigned(ks_load8(p)) << 8)); }
static inline vi viload(const int32_t* p) { return *(const ks_vi_any*)p; }
static inline vi viload(const int16_t* p) { return ks_widen(ks_load16(p)); }
static inline vi viload(const int8_t* p) { return ks_widen8(ks_load8(p)); }
static inline vi viload(const uint8_t* p) { return ks_widen8_unsigned(ks_load8(p)); }
static inline vf vload(const int32_t* p) { return to_vf(viload(p)); }
static inline vf vload(const int16_t* p) { return to_vf(viload(p)); }
static inline vf vload(const int8_t* p) { return to_vf(viload(p)); }
static inline vf vload(const uint8_t* p) { return to_vf(viload(p)); }
static inline vf vload(const double* p) {
#if KS_AVX512
  return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(_mm512_loadu_pd(p))), _mm512_cvtpd_ps(_mm512_loadu_pd(p + 8)), 1);
#else
  return (vf)_mm256_set_m128(_mm256_cvtpd_ps(_mm256_loadu_pd(p + 4)), _mm256_cvtpd_ps(_mm256_loadu_pd(p)));
#endif
}
static inline vf vload(const int64_t* p) {
  vf x;
  for (int lane = 0; lane < VL; ++lane) x[lane] = float(p[lane]);
  return x;
}

static inline void vstore(float* p, vf x) { *(ks_vf_any*)p = x; }
static inline void vstore(_Float16* p, vf x) { ks_store16(p, ks_to_half(x)); }
static inline void vstore(ks_bf16* p, vf x) { ks_store16(p, ks_narrow16(ks_to_bf16(x))); }
static inline void vstore(ks_f8e4m3* p, vf x) { ks_store8(p, ks_narrow8(ks_to_f8<4, 3, false>(x))); }
static inline void vstore(ks_f8e5m2* p, vf x) { ks_store8(p, ks_narrow8(ks_to_f8<5, 2, true>(x))); }
static inline void vistore(int32_t* p, vi x) { *(ks_vi_any*)p = x; }
static inline void vistore(int16_t* p, vi x) { ks_store16(p, ks_narrow16(x)); }  // wraps
static inline void vistore(int8_t* p, vi x) { ks_store8(p, ks_narrow8(x)); }
static inline void vistore(uint8_t* p, vi x) { ks_store8(p, ks_narrow8(x)); }
static inline void vstore(int32_t* p, vf x) { vistore(p, ks_saturate32(x)); }
static inline void vstore(int16_t* p, vf x) { vistore(p, ks_saturate(x, -32768.0f, 32767.0f)); }
static inline void vstore(int8_t* p, vf x) { vistore(p, ks_saturate(x, -128.0f, 127.0f)); }
static inline void vstore(uint8_t* p, vf x) { vistore(p, ks_saturate(x, 0.0f, 255.0f)); }
static inline void vstore(double* p, vf x) {
#if KS_AVX512
  _mm512_storeu_pd(p, _mm512_cvtps_pd(ks_low(x)));
  _mm512_storeu_pd(p + 8, _mm512_cvtps_pd(ks_high(x)));
#else
  _mm256_storeu_pd(p, _mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x)));
  _mm256_storeu_pd(p + 4, _mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1)));
#endif
}
static inline void vstore(int64_t* p, vf x) {
  for (int lane = 0; lane < VL; ++lane) p[lane] = from_float<int64_t>(x[lane]);
}

// The first n lanes, 0 <= n <= VL; the others load as 0 and are not stored. Memory beyond
// is never touched.
template <class T>
static inline vf vload_n(const T* p, int n) {
  T lanes[VL] = {};
  std::memcpy(lanes, p, size_t(n) * sizeof(T));
  return vload(lanes);
}
template <class T>
static inline void vstore_n(T* p, vf x, int n) {
  T lanes[VL];
  vstore(lanes, x);
  std::memcpy(p, lanes, size_t(n) * sizeof(T));
}
template <class T>
static inline vi viload_n(const T* p, int n) {
  T lanes[VL] = {};
  std::memcpy(lanes, p, size_t(n) * sizeof(T));
  return viload(lanes);
}
template <class T>
static inline void vistore_n(T* p, vi x, int n) {
  T lanes[VL];
  vistore(lanes, x);
  std::memcpy(p, lanes, size_t(n) * sizeof(T));
}
#if KS_AVX512
static inline __mmask16 ks_mask(int n) { return __mmask16((1u << n) - 1); }
static inline vf vload_n(const float* p, int n) { return (vf)_mm512_maskz_loadu_ps(ks_mask(n), p); }
static inline void vstore_n(float* p, vf x, int n) { _mm512_mask_storeu_ps(p, ks_mask(n), (__m512)x); }
static inline vi viload_n(const int32_t* p, int n) { return (vi)_mm512_maskz_loadu_epi32(ks_mask(n), p); }
static inline void vistore_n(int32_t* p, vi x, int n) { _mm512_mask_storeu_epi32(p, ks_mask(n), (__m512i)x); }
static inline vf vload_n(const _Float16* p, int n) { return ks_from_half(_mm256_maskz_loadu_epi16(ks_mask(n), p)); }
static inline void vstore_n(_Float16* p, vf x, int n) { _mm256_mask_storeu_epi16(p, ks_mask(n), ks_to_half(x)); }
static inline vf vload_n(const ks_bf16* p, int n) { return (vf)(ks_widen_unsigned(_mm256_maskz_loadu_epi16(ks_mask(n), p)) << 16); }
static inline void vstore_n(ks_bf16* p, vf x, int n) { _mm256_mask_storeu_epi16(p, ks_mask(n), ks_narrow16(ks_to_bf16(x))); }
static inline vi viload_n(const int8_t* p, int n) { return ks_widen8(_mm_maskz_loadu_epi8(ks_mask(n), p)); }
static inline vi viload_n(const uint8_t* p, int n) { return ks_widen8_unsigned(_mm_maskz_loadu_epi8(ks_mask(n), p)); }
static inline vf vload_n(const int8_t* p, int n) { return to_vf(viload_n(p, n)); }
static inline vf vload_n(const uint8_t* p, int n) { return to_vf(viload_n(p, n)); }
#else
static inline vf vload_n(const float* p, int n) { return (vf)_mm256_maskload_ps(p, (__m256i)vfirst(n)); }
static inline void vstore_n(float* p, vf x, int n) { _mm256_maskstore_ps(p, (__m256i)vfirst(n), (__m256)x); }
static inline vi viload_n(const int32_t* p, int n) { return (vi)_mm256_maskload_epi32(p, (__m256i)vfirst(n)); }
static inline void vistore_n(int32_t* p, vi x, int n) { _mm256_maskstore_epi32(p, (__m256i)vfirst(n), (__m256i)x); }
#endif
)kernel";

}  // namespace kernsmith::agents::prelude
