// Outputs are compared on the measured machine between timed calls, so these loops are vectorised for whatever it has.
#pragma GCC optimize("O3")
// The vectors below are only ever passed to functions that are inlined, so no calling convention is at stake.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "backends/harness/comparison_chunks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/harness/comparison.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define KERNSMITH_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define KERNSMITH_CLONES
#endif

namespace kernsmith::harness {

float_format format_of(dtype type) {
  switch (type) {
    case dtype::f64:
      return {52, -1022, std::numeric_limits<double>::max(), true};
    case dtype::f16:
      return {10, -14, 65504.0, true};
    case dtype::bf16:
      return {7, -126, largest_finite(dtype::bf16), true};
    case dtype::f8e4m3:
      return {3, -6, 448.0, false};
    case dtype::f8e5m2:
      return {2, -14, 57344.0, true};
    default:
      return {23, -126, static_cast<double>(std::numeric_limits<float>::max()), true};
  }
}

namespace {

KERNSMITH_CLONES void widen_f32(const float* from, double* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<double>(from[i]);
}

KERNSMITH_CLONES void widen_bf16(const std::uint16_t* from, double* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16));
}

KERNSMITH_CLONES void widen_f16(const std::uint16_t* from, double* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = from[i];
    const std::uint32_t magnitude = (bits & 0x7fffu) << 13;
    // Scaling by 2^112 moves the exponent and makes normal numbers of subnormal ones; infinities and NaNs keep their own pattern.
    const float finite = std::bit_cast<float>(magnitude) * 0x1p112f;
    const auto special = std::bit_cast<float>(magnitude | 0x7f800000u);
    const float value = (bits & 0x7c00u) == 0x7c00u ? special : finite;
    to[i] = static_cast<double>((bits & 0x8000u) != 0 ? -value : value);
  }
}

const std::array<double, 256>& f8_values(dtype type) {
  static const auto tables = [] {
    std::array<std::array<double, 256>, 2> both{};
    for (std::size_t i = 0; i < 256; ++i) {
      const auto bits = static_cast<std::uint8_t>(i);
      both[0][i] = load_as_double(&bits, 0, dtype::f8e4m3);
      both[1][i] = load_as_double(&bits, 0, dtype::f8e5m2);
    }
    return both;
  }();
  return tables[type == dtype::f8e4m3 ? 0 : 1];
}

}  // namespace

void widen(dtype type, const void* array, std::int64_t first, double* to, std::int64_t n) {
  switch (type) {
    case dtype::f64:
      std::memcpy(to, static_cast<const double*>(array) + first, static_cast<std::size_t>(n) * sizeof(double));
      return;
    case dtype::f32:
      return widen_f32(static_cast<const float*>(array) + first, to, n);
    case dtype::bf16:
      return widen_bf16(static_cast<const std::uint16_t*>(array) + first, to, n);
    case dtype::f16:
      return widen_f16(static_cast<const std::uint16_t*>(array) + first, to, n);
    default:
      break;
  }
  const auto* bytes = static_cast<const std::uint8_t*>(array) + first;
  const auto& table = f8_values(type);
  for (std::int64_t i = 0; i < n; ++i) to[i] = table[bytes[i]];
}

namespace {

template <class T>
void integers_from(const void* array, std::int64_t first, std::int64_t* to, std::int64_t n) {
  const T* from = static_cast<const T*>(array) + first;
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<std::int64_t>(from[i]);
}

}  // namespace

void widen_integers(dtype type, const void* array, std::int64_t first, std::int64_t* to, std::int64_t n) {
  switch (type) {
    case dtype::i64:
      return integers_from<std::int64_t>(array, first, to, n);
    case dtype::i32:
      return integers_from<std::int32_t>(array, first, to, n);
    case dtype::i16:
      return integers_from<std::int16_t>(array, first, to, n);
    case dtype::i8:
      return integers_from<std::int8_t>(array, first, to, n);
    default:
      return integers_from<std::uint8_t>(array, first, to, n);
  }
}

namespace {

/// Four elements at a time. Not eight: g++ 12 takes comparisons of wider vectors apart into scalars.
using reals = double __attribute__((vector_size(32)));
using masks = std::int64_t __attribute__((vector_size(32)));
constexpr std::int64_t width = vector_elements;
constexpr double largest_double = std::numeric_limits<double>::max();

#define KERNSMITH_INLINE inline __attribute__((always_inline))

KERNSMITH_INLINE reals load(const double* from) {
  reals v;
  std::memcpy(&v, from, sizeof(v));
  return v;
}
KERNSMITH_INLINE reals magnitude(const reals& v) {
  return (reals)((masks)(v)&0x7fffffffffffffffll);
}

/// Worst error and number of elements outside, lane by lane. `tolerance` is finite and may be 0; elements that are equal, or both NaN, have
/// no error.
struct lanes {
  reals worst{};
  masks bad{};
  KERNSMITH_INLINE void add(const reals& got, const reals& expected, const reals& tolerance) {
    const reals difference = magnitude(got - expected);
    const masks same = (got == expected) | ((got != got) & (expected != expected));
    const masks inside = (difference <= tolerance) | same;
    reals error = difference / tolerance;
    error = (error <= max_reported_error) ? error : (reals{} + max_reported_error);  // NaN, and anything over no tolerance at all
    error = same ? reals{} : error;
    worst = (error > worst) ? error : worst;
    bad -= ~inside;
  }
  [[nodiscard]] chunk_result total() const {
    chunk_result result;
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(width); ++lane) {
      result.worst = std::max(result.worst, worst[lane]);
      result.bad += bad[lane];
    }
    return result;
  }
};

/// Rounds to nearest even in a narrower format by adding and subtracting a number whose last place is the format's.
KERNSMITH_CLONES void round_chunk(double* values, std::int64_t n, double least, double magic_factor, double largest, double overflow) {
  for (std::int64_t i = 0; i < n; i += width) {
    const reals x = load(values + i);
    reals binade_of = (reals)((masks)(x)&0x7ff0000000000000ll);
    binade_of = (binade_of > least) ? binade_of : (reals{} + least);
    const reals magic = binade_of * magic_factor;
    const reals rounded = (x + magic) - magic;
    const reals signed_overflow = (x < 0.0) ? (reals{} - overflow) : (reals{} + overflow);
    // Not `> largest`: where the magic number itself overflows, `rounded` is NaN.
    const reals out = (magnitude(rounded) <= largest) ? rounded : signed_overflow;
    const reals kept = (magnitude(x) <= largest_double) ? out : x;
    std::memcpy(values + i, &kept, sizeof(kept));
  }
}

}  // namespace

void round_to(dtype type, double* values, std::int64_t n) {
  if (type == dtype::f64) return;
  const float_format format = format_of(type);
  const double overflow = format.has_infinity ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  round_chunk(values, n, std::ldexp(1.0, format.least_exponent), std::ldexp(1.5, 52 - format.fraction_bits), format.largest, overflow);
  if (!format.has_infinity) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = std::isinf(values[i]) ? overflow : values[i];
  }
}

namespace {

// An infinite or NaN expectation leaves no tolerance: only the same value will do.
KERNSMITH_CLONES chunk_result chunk_allclose(const double* got, const double* expected, std::int64_t n, double atol, double rtol) {
  lanes sum;
  for (std::int64_t i = 0; i < n; i += width) {
    const reals r = load(expected + i), size = magnitude(r);
    const reals tolerance = (size <= largest_double) ? (atol + rtol * size) : reals{};
    sum.add(load(got + i), r, tolerance);
  }
  return sum.total();
}

KERNSMITH_INLINE reals load(const float* from) {
  using narrow_reals = float __attribute__((vector_size(16)));
  narrow_reals v;
  std::memcpy(&v, from, sizeof(v));
  return __builtin_convertvector(v, reals);
}

// Less, not less or equal: an infinite difference is never below an infinite tolerance, and NaN is below nothing.
template <class G, class E>
KERNSMITH_INLINE bool all_nearer(const G* got, const E* expected, std::int64_t n, double atol, double rtol) {
  masks fine = ~masks{};
  for (std::int64_t i = 0; i < n; i += width) {
    const reals r = load(expected + i);
    fine &= magnitude(load(got + i) - r) < atol + rtol * magnitude(r);
  }
  return (fine[0] & fine[1] & fine[2] & fine[3]) != 0;
}
KERNSMITH_CLONES bool nearer_f64(const double* got, const double* expected, std::int64_t n, double atol, double rtol) {
  return all_nearer(got, expected, n, atol, rtol);
}
KERNSMITH_CLONES bool nearer_f32(const float* got, const float* expected, std::int64_t n, double atol, double rtol) {
  return all_nearer(got, expected, n, atol, rtol);
}
KERNSMITH_CLONES bool nearer_f32_wide(const float* got, const double* expected, std::int64_t n, double atol, double rtol) {
  return all_nearer(got, expected, n, atol, rtol);
}

/// Distance in units in the last place of the expected value's binade. With no units at all, equality.
KERNSMITH_CLONES chunk_result chunk_ulp(const double* got, const double* expected, std::int64_t n, double least, double ulp_factor,
                                        double units) {
  lanes sum;
  for (std::int64_t i = 0; i < n; i += width) {
    const reals r = load(expected + i), size = magnitude(r);
    reals binade_of = (reals)((masks)(r)&0x7ff0000000000000ll);
    binade_of = (binade_of > least) ? binade_of : (reals{} + least);
    const reals tolerance = (size <= largest_double) ? (binade_of * (ulp_factor * units)) : reals{};
    sum.add(load(got + i), r, tolerance);
  }
  return sum.total();
}

/// Squared norms of difference and expectation over the finite elements; the others must match.
KERNSMITH_CLONES chunk_result chunk_norms(const double* got, const double* expected, std::int64_t n) {
  reals difference2{}, reference2{};
  masks bad{};
  for (std::int64_t i = 0; i < n; i += width) {
    const reals r = load(expected + i), y = load(got + i);
    const masks finite = (magnitude(r) <= largest_double) & (magnitude(y) <= largest_double);
    const masks same = (y == r) | ((y != y) & (r != r));
    bad -= ~(finite | same);
    const reals d = finite ? (y - r) : reals{}, size = finite ? r : reals{};
    difference2 += d * d;
    reference2 += size * size;
  }
  chunk_result result;
  for (std::size_t lane = 0; lane < static_cast<std::size_t>(width); ++lane) {
    result.bad += bad[lane];
    result.difference2 += difference2[lane];
    result.reference2 += reference2[lane];
  }
  if (result.bad > 0) result.worst = max_reported_error;
  return result;
}

}  // namespace

chunk_result judge_allclose(const double* got, const double* expected, std::int64_t n, double atol, double rtol) {
  return chunk_allclose(got, expected, n, atol, rtol);
}
bool all_below(dtype type, const void* got, const void* expected, bool wide, std::int64_t first, std::int64_t n, double atol, double rtol) {
  if (n % width != 0) return false;
  const auto* wide_expected = static_cast<const double*>(expected) + first;
  if (type == dtype::f64) return nearer_f64(static_cast<const double*>(got) + first, wide_expected, n, atol, rtol);
  if (type != dtype::f32) return false;
  const auto* own = static_cast<const float*>(got) + first;
  if (wide) return nearer_f32_wide(own, wide_expected, n, atol, rtol);
  return nearer_f32(own, static_cast<const float*>(expected) + first, n, atol, rtol);
}
chunk_result judge_ulp(const double* got, const double* expected, std::int64_t n, const float_format& format, double units) {
  return chunk_ulp(got, expected, n, std::ldexp(1.0, format.least_exponent), std::ldexp(1.0, -format.fraction_bits), units);
}
chunk_result judge_norms(const double* got, const double* expected, std::int64_t n) {
  return chunk_norms(got, expected, n);
}

}  // namespace kernsmith::harness
