// Prelude piece "simd64": vectors of doubles and int64s.
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view simd64_text = R"kernel(// ---- SIMD: VL / 2 doubles (vd) or int64s (vl) per register; functions by overload ----
static constexpr int VLD = KS_VECTOR_BYTES / 8;  // lanes of a vd
typedef double vd __attribute__((vector_size(KS_VECTOR_BYTES)));
typedef int64_t vl __attribute__((vector_size(KS_VECTOR_BYTES)));
typedef double ks_vd_any __attribute__((vector_size(KS_VECTOR_BYTES), aligned(8), may_alias));
typedef int64_t ks_vl_any __attribute__((vector_size(KS_VECTOR_BYTES), aligned(8), may_alias));

static inline vd vsetd(double x) { return x - vd{}; }
static inline vl vsetl(int64_t x) { return x - vl{}; }
static inline vd vselect(vl mask, vd a, vd b) { return mask ? a : b; }
static inline vl vselect(vl mask, vl a, vl b) { return mask ? a : b; }
static inline vl ks_lanes64() {  // 0, 1, 2, ...
#if KS_AVX512
  return vl{0, 1, 2, 3, 4, 5, 6, 7};
#else
  return vl{0, 1, 2, 3};
#endif
}
static inline vl vfirstd(int n) { return ks_lanes64() < n; }  // mask of the first n lanes

// NaN: as for floats.
#if KS_AVX512
static inline vd vmin_raw(vd a, vd b) { return (vd)_mm512_min_pd((__m512d)a, (__m512d)b); }
static inline vd vmax_raw(vd a, vd b) { return (vd)_mm512_max_pd((__m512d)a, (__m512d)b); }
#else
static inline vd vmin_raw(vd a, vd b) { return (vd)_mm256_min_pd((__m256d)a, (__m256d)b); }
static inline vd vmax_raw(vd a, vd b) { return (vd)_mm256_max_pd((__m256d)a, (__m256d)b); }
#endif
static inline vd vmin(vd a, vd b) { return vselect(a != a, a, vmin_raw(a, b)); }
static inline vd vmax(vd a, vd b) { return vselect(a != a, a, vmax_raw(a, b)); }
static inline vl vmin(vl a, vl b) { return a < b ? a : b; }
static inline vl vmax(vl a, vl b) { return a > b ? a : b; }
static inline vd vabs(vd x) { return (vd)((vl)x & INT64_MAX); }
static inline vl vabs(vl x) { return x < 0 ? -x : x; }
static inline vd vcopysign(vd magnitude, vd sign) { return (vd)(((vl)magnitude & INT64_MAX) | ((vl)sign & INT64_MIN)); }

#if KS_AVX512
static inline vd vfma(vd a, vd b, vd c) { return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
static inline vd vfloor(vd x) { return (vd)_mm512_roundscale_pd((__m512d)x, 0x09); }
static inline vd vceil(vd x) { return (vd)_mm512_roundscale_pd((__m512d)x, 0x0a); }
static inline vd vround(vd x) { return (vd)_mm512_roundscale_pd((__m512d)x, 0x08); }  // half to even
static inline vd vtrunc(vd x) { return (vd)_mm512_roundscale_pd((__m512d)x, 0x0b); }
static inline vd vsqrt(vd x) { return (vd)_mm512_sqrt_pd((__m512d)x); }
static inline vd to_vd(vl x) { return (vd)_mm512_cvtepi64_pd((__m512i)x); }
static inline vl to_vl(vd x) { return (vl)_mm512_cvttpd_epi64((__m512d)x); }  // truncates; out of range and NaN: INT64_MIN
static inline vd vlow(vf x) { return (vd)_mm512_cvtps_pd(ks_low(x)); }
static inline vd vhigh(vf x) { return (vd)_mm512_cvtps_pd(ks_high(x)); }
static inline vf vjoin(vd low, vd high) {
  return (vf)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)), _mm512_cvtpd_ps((__m512d)high), 1);
}
static inline vd vgather(const double* p, vl index) { return (vd)_mm512_i64gather_pd((__m512i)index, p, 8); }
static inline vd vloadd(const float* p) { return (vd)_mm512_cvtps_pd(_mm256_loadu_ps(p)); }
static inline void vstored(float* p, vd x) { _mm256_storeu_ps(p, _mm512_cvtpd_ps((__m512d)x)); }
static inline vl vlload(const int32_t* p) { return (vl)_mm512_cvtepi32_epi64(_mm256_loadu_si256((const __m256i*)p)); }
static inline vl vlload(const int16_t* p) { return (vl)_mm512_cvtepi16_epi64(_mm_loadu_si128((const __m128i*)p)); }
static inline vl vlload(const int8_t* p) { return (vl)_mm512_cvtepi8_epi64(_mm_loadl_epi64((const __m128i*)p)); }
static inline vl vlload(const uint8_t* p) { return (vl)_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i*)p)); }
#else
static inline vd vfma(vd a, vd b, vd c) { return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
static inline vd vfloor(vd x) { return (vd)_mm256_round_pd((__m256d)x, 0x09); }
static inline vd vceil(vd x) { return (vd)_mm256_round_pd((__m256d)x, 0x0a); }
static inline vd vround(vd x) { return (vd)_mm256_round_pd((__m256d)x, 0x08); }  // half to even
static inline vd vtrunc(vd x) { return (vd)_mm256_round_pd((__m256d)x, 0x0b); }
static inline vd vsqrt(vd x) { return (vd)_mm256_sqrt_pd((__m256d)x); }
static inline vd to_vd(vl x) { return vd{double(x[0]), double(x[1]), double(x[2]), double(x[3])}; }
static inline vl to_vl(vd x) {  // truncates; out of range and NaN: INT64_MIN
  return vl{_mm_cvttsd_si64(_mm_set_sd(x[0])), _mm_cvttsd_si64(_mm_set_sd(x[1])), _mm_cvttsd_si64(_mm_set_sd(x[2])),
            _mm_cvttsd_si64(_mm_set_sd(x[3]))};
}
static inline vd vlow(vf x) { return (vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x)); }
static inline vd vhigh(vf x) { return (vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1)); }
static inline vf vjoin(vd low, vd high) { return (vf)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low)); }
static inline vd vgather(const double* p, vl index) { return (vd)_mm256_i64gather_pd(p, (__m256i)index, 8); }
static inline vd vloadd(const float* p) { return (vd)_mm256_cvtps_pd(_mm_loadu_ps(p)); }
static inline void vstored(float* p, vd x) { _mm_storeu_ps(p, _mm256_cvtpd_ps((__m256d)x)); }
static inline vl vlload(const int32_t* p) { return (vl)_mm256_cvtepi32_epi64(_mm_loadu_si128((const __m128i*)p)); }
static inline vl vlload(const int16_t* p) { return vl{p[0], p[1], p[2], p[3]}; }
static inline vl vlload(const int8_t* p) { return vl{p[0], p[1], p[2], p[3]}; }
static inline vl vlload(const uint8_t* p) { return vl{p[0], p[1], p[2], p[3]}; }
#endif

template <class V, class F>
static inline auto ks_fold64(V x, F combine) {
  auto total = x[0];
  for (int lane = 1; lane < VLD; ++lane) total = combine(total, x[lane]);
  return total;
}
static inline double hsum(vd x) {
  return ks_fold64(x, [](double a, double b) { return a + b; });
}
static inline double hprod(vd x) {
  return ks_fold64(x, [](double a, double b) { return a * b; });
}
static inline double hmax(vd x) {
  return ks_fold64(x, [](double a, double b) { return (a > b) | (a != a) ? a : b; });
}
static inline double hmin(vd x) {
  return ks_fold64(x, [](double a, double b) { return (a < b) | (a != a) ? a : b; });
}
static inline int64_t hsum(vl x) {
  return ks_fold64(x, [](int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); });
}
static inline int64_t hmax(vl x) {
  return ks_fold64(x, [](int64_t a, int64_t b) { return a > b ? a : b; });
}
static inline int64_t hmin(vl x) {
  return ks_fold64(x, [](int64_t a, int64_t b) { return a < b ? a : b; });
}

static inline vd vloadd(const double* p) { return *(const ks_vd_any*)p; }
static inline void vstored(double* p, vd x) { *(ks_vd_any*)p = x; }
static inline vl vlload(const int64_t* p) { return *(const ks_vl_any*)p; }
template <class T>
static inline vd vloadd(const T* p) {  // the narrow types, lane by lane
  vd x;
  for (int lane = 0; lane < VLD; ++lane) x[lane] = to_double(p[lane]);
  return x;
}
template <class T>
static inline void vstored(T* p, vd x) {
  for (int lane = 0; lane < VLD; ++lane) p[lane] = from_double<T>(x[lane]);
}
static inline void vlstore(int64_t* p, vl x) { *(ks_vl_any*)p = x; }
template <class T>
static inline void vlstore(T* p, vl x) {  // wraps
  for (int lane = 0; lane < VLD; ++lane) p[lane] = T(x[lane]);
}

// The first n lanes, 0 <= n <= VLD; the others load as 0 and are not stored.
template <class T>
static inline vd vloadd_n(const T* p, int n) {
  T lanes[VLD] = {};
  std::memcpy(lanes, p, size_t(n) * sizeof(T));
  return vloadd(lanes);
}
template <class T>
static inline void vstored_n(T* p, vd x, int n) {
  T lanes[VLD];
  vstored(lanes, x);
  std::memcpy(p, lanes, size_t(n) * sizeof(T));
}
template <class T>
static inline vl vlload_n(const T* p, int n) {
  T lanes[VLD] = {};
  std::memcpy(lanes, p, size_t(n) * sizeof(T));
  return vlload(lanes);
}
template <class T>
static inline void vlstore_n(T* p, vl x, int n) {
  T lanes[VLD];
  vlstore(lanes, x);
  std::memcpy(p, lanes, size_t(n) * sizeof(T));
}

// A libm function on each lane, where a polynomial in doubles isn't worth its length.
template <class F>
static inline vd ks_each(vd x, F function) {
  for (int lane = 0; lane < VLD; ++lane) x[lane] = function(x[lane]);
  return x;
}
)kernel";

}  // namespace kernsmith::agents::prelude
