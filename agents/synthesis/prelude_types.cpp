// Prelude piece "types": storage types and their conversion to and from float and double.
#include "agents/synthesis/prelude_text.hpp"

namespace kernsmith::agents::prelude {

const std::string_view types_text =
    R"kernel(// ---- storage types: 8- and 16-bit floats as bits, and conversions for every element type ----
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

struct ks_bf16 {
  uint16_t bits;
};  // 1 sign, 8 exponent, 7 fraction bits
struct ks_f8e4m3 {
  uint8_t bits;
};  // OCP E4M3fn: no infinity, 0x7f is NaN, largest 448
struct ks_f8e5m2 {
  uint8_t bits;
};  // OCP E5M2: the upper byte of an IEEE half

static inline uint32_t ks_bits(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
static inline float ks_float(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

// A float rounded to nearest-even into a byte with kExponent exponent and kFraction fraction
// bits.
template <int kExponent, int kFraction, bool kHasInfinity>
static inline uint8_t ks_to_f8(float x) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  constexpr uint32_t infinity = ((1u << kExponent) - 1) << kFraction;  // E5M2: 0x7c
  constexpr uint32_t nan = kHasInfinity ? infinity | 2u : infinity | ((1u << kFraction) - 1);
  constexpr uint32_t largest = kHasInfinity ? infinity - 1 : nan - 1;
  constexpr uint32_t overflow = kHasInfinity ? infinity : nan;
  const uint32_t u = ks_bits(x), sign = (u >> 24) & 0x80, magnitude = u & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return uint8_t(sign | nan);
  uint32_t code;
  if (magnitude >= uint32_t(127 - bias + 1) << 23) {  // a normal number of the small type (or too
                                                      // large for it)
    const uint32_t half = (1u << (22 - kFraction)) - 1 + ((magnitude >> (23 - kFraction)) & 1);
    code = ((magnitude + half) >> (23 - kFraction)) - (uint32_t(127 - bias) << kFraction);
    if (code > largest) code = overflow;
  } else {  // subnormal: adding a number whose last place is the small type's last place lets the
            // hardware round
    const uint32_t magic = uint32_t(127 + 23 - (bias - 1 + kFraction)) << 23;
    code = ks_bits(ks_float(magnitude) + ks_float(magic)) - magic;
  }
  return uint8_t(sign | code);
}

template <int kExponent, int kFraction, bool kHasInfinity>
static inline float ks_from_f8(uint8_t bits) {
  constexpr int bias = (1 << (kExponent - 1)) - 1;
  const uint32_t sign = uint32_t(bits & 0x80) << 24, code = bits & 0x7f;
  constexpr uint32_t infinity = ((1u << kExponent) - 1) << kFraction;
  if (kHasInfinity ? code > infinity : code == (infinity | ((1u << kFraction) - 1))) return ks_float(sign | 0x7fc00000u);
  if (kHasInfinity && code == infinity) return ks_float(sign | 0x7f800000u);
  // As a float the code is 2^(bias - 127) times its value, subnormals included.
  return ks_float(sign | (code << (23 - kFraction))) * ks_float(uint32_t(127 + 127 - bias) << 23);
}

static inline float to_float(float x) { return x; }
static inline float to_float(double x) { return float(x); }
static inline float to_float(_Float16 x) { return float(x); }
static inline float to_float(ks_bf16 x) { return ks_float(uint32_t(x.bits) << 16); }
static inline float to_float(ks_f8e4m3 x) { return ks_from_f8<4, 3, false>(x.bits); }
static inline float to_float(ks_f8e5m2 x) { return ks_from_f8<5, 2, true>(x.bits); }
static inline float to_float(int64_t x) { return float(x); }
static inline float to_float(int32_t x) { return float(x); }
static inline float to_float(int16_t x) { return float(x); }
static inline float to_float(int8_t x) { return float(x); }
static inline float to_float(uint8_t x) { return float(x); }

static inline double to_double(double x) { return x; }
static inline double to_double(int64_t x) { return double(x); }
template <class T>
static inline double to_double(T x) {
  return double(to_float(x));
}
static inline double to_double(int32_t x) { return double(x); }

// Truncated towards zero and saturated; NaN becomes 0.
template <class T, class F>
static inline T ks_saturate(F x) {
  if (!(x == x)) return 0;
  if (x <= F(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (x >= F(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return T(x);
}

template <class T>
static inline T from_float(float x) {
  if constexpr (std::is_same_v<T, ks_bf16>) {
    const uint32_t u = ks_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return ks_bf16{uint16_t((u >> 16) | 0x40)};
    return ks_bf16{uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16)};
  } else if constexpr (std::is_same_v<T, ks_f8e4m3>) {
    return ks_f8e4m3{ks_to_f8<4, 3, false>(x)};
  } else if constexpr (std::is_same_v<T, ks_f8e5m2>) {
    return ks_f8e5m2{ks_to_f8<5, 2, true>(x)};
  } else if constexpr (std::is_integral_v<T>) {
    return ks_saturate<T>(x);
  } else {
    return T(x);
  }
}

// A double as a float whose last bit is sticky ("round to odd"): rounding the result once more
// into 8 or 16 bits gives what rounding the double directly would.
static inline float ks_round_to_odd(double x) {
  const float nearest = float(x);
  const double back = double(nearest);
  uint32_t u = ks_bits(nearest);
  if (!(back == back) || back == x || (u & 1)) return nearest;
  return ks_float(std::fabs(back) > std::fabs(x) ? u - 1 : u | 1);
}

template <class T>
static inline T from_double(double x) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    return T(x);
  } else if constexpr (std::is_integral_v<T>) {
    return ks_saturate<T>(x);
  } else {
    return from_float<T>(ks_round_to_odd(x));
  }
}

// The definition language's min and max: a NaN on either side wins.
template <class T>
static inline T ks_min(T a, T b) {
  return (a < b) | (a != a) ? a : b;
}
template <class T>
static inline T ks_max(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}
template <class T>
static inline T ks_sigmoid(T x) {  // exp of the negative magnitude never overflows
  const T e = std::exp(-std::fabs(x));
  return (x < 0 ? e : T(1)) / (T(1) + e);
}
static inline bool ks_inside(int64_t i, int64_t extent) { return uint64_t(i) < uint64_t(extent); }
// Integer arithmetic wraps.
static inline int64_t ks_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
static inline int64_t ks_subtract(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
static inline int64_t ks_multiply(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
)kernel";

}  // namespace kernsmith::agents::prelude
