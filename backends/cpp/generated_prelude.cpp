#include "backends/cpp/generated_prelude.hpp"

namespace kernsmith::cpp {

const std::string& generated_prelude() {
  static const std::string text = R"prelude(
#include "kernsmith_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

// Element types that C++ lacks are carried as bit patterns.
inline float from_bf16(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

// Round to nearest even from a float.
inline uint16_t to_bf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return static_cast<uint16_t>(value != value ? ((bits >> 16) | 0x40u) : rounded);
}

// From a double in one rounding: the float in between is rounded to odd, so that no tie is decided twice.
inline uint16_t to_bf16(double value) {
  float narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, 4);
  if (std::isfinite(value) && static_cast<double>(narrow) != value) {
    if (std::fabs(static_cast<double>(narrow)) > std::fabs(value)) --bits;
    bits |= 1u;
    std::memcpy(&narrow, &bits, 4);
  }
  return to_bf16(narrow);
}

// OCP 8-bit floats: `low` is the least normal exponent, `mantissa` the number of stored fraction bits.
inline double decode_f8(uint8_t bits, int mantissa, int low, bool has_infinity) {
  const int magnitude = bits & 0x7f;
  const int exponent = magnitude >> mantissa, fraction = magnitude & ((1 << mantissa) - 1);
  const int top = 127 >> mantissa;
  double value;
  if (has_infinity && exponent == top) {
    value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  } else if (!has_infinity && magnitude == 0x7f) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    value = exponent == 0 ? std::ldexp(fraction, low - mantissa) : std::ldexp((1 << mantissa) + fraction, exponent - 1 + low - mantissa);
  }
  return bits & 0x80 ? -value : value;
}

inline uint8_t encode_f8(double value, int mantissa, int low, double largest, uint8_t above) {
  const uint8_t sign = std::signbit(value) ? 0x80 : 0;
  if (value != value) return static_cast<uint8_t>(sign | 0x7f);
  const double size = std::fabs(value);
  if (size == 0) return sign;
  if (std::isinf(size)) return static_cast<uint8_t>(sign | above);
  int exponent = std::max(std::ilogb(size), low);
  double units = std::nearbyint(std::ldexp(size, mantissa - exponent));
  if (std::ldexp(units, exponent - mantissa) > largest) return static_cast<uint8_t>(sign | above);
  const int whole = static_cast<int>(units);
  const int magnitude = whole + ((exponent - low) << mantissa);  // a carry out of the fraction moves the exponent by itself
  return static_cast<uint8_t>(sign | magnitude);
}

struct f8_table {
  float value[256];
  f8_table(int mantissa, int low, bool has_infinity) {
    for (int i = 0; i < 256; ++i) value[i] = static_cast<float>(decode_f8(static_cast<uint8_t>(i), mantissa, low, has_infinity));
  }
};
const f8_table f8e4m3_values(3, -6, false), f8e5m2_values(2, -14, true);
inline float from_f8e4m3(uint8_t bits) {
  return f8e4m3_values.value[bits];
}
inline float from_f8e5m2(uint8_t bits) {
  return f8e5m2_values.value[bits];
}
inline uint8_t to_f8e4m3(double value) {
  return encode_f8(value, 3, -6, 448.0, 0x7f);
}
inline uint8_t to_f8e5m2(double value) {
  return encode_f8(value, 2, -14, 57344.0, 0x7c);
}

// Truncated towards zero and saturated; NaN becomes 0.
template <class T>
inline int64_t saturated(double value) {
  const double low = static_cast<double>(std::numeric_limits<T>::min()), high = static_cast<double>(std::numeric_limits<T>::max());
  if (value != value) return 0;
  if (value <= low) return static_cast<int64_t>(std::numeric_limits<T>::min());
  if (value >= high) return static_cast<int64_t>(std::numeric_limits<T>::max());
  return static_cast<int64_t>(value);
}

// An integer held to the range of a narrower type.
template <class T>
inline int64_t clamped(int64_t value) {
  return std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}

// Integer arithmetic wraps.
inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// A NaN on either side wins.
template <class T>
inline T larger(T a, T b) {
  return (a > b || a != a) ? a : b;
}
template <class T>
inline T smaller(T a, T b) {
  return (a < b || a != a) ? a : b;
}

inline bool inside(int64_t position, int64_t extent) {
  return static_cast<uint64_t>(position) < static_cast<uint64_t>(extent);
}

// Scratch that stays allocated between calls.
template <class T>
inline T* scratch(std::vector<T>& store, int64_t count) {
  if (store.size() < static_cast<size_t>(count)) store.resize(static_cast<size_t>(count));
  return store.data();
}

}  // namespace
)prelude";
  return text;
}

}  // namespace kernsmith::cpp
