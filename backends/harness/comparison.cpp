// Outputs are compared on the measured machine between timed calls, so these loops are vectorised for whatever it has.
#pragma GCC optimize("O3")
// The vectors below are only ever passed to functions that are inlined, so no calling convention is at stake.
#pragma GCC diagnostic ignored "-Wpsabi"

#include "backends/harness/comparison.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/harness/in_parts.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define KERNSMITH_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define KERNSMITH_CLONES
#endif

namespace kernsmith::harness {

namespace {

constexpr std::int64_t chunk_elements = 2048;          // conversion buffers stay in the first-level cache
constexpr std::int64_t elements_per_thread = 1 << 16;  // below this a thread costs more than it saves

/// What rounding to a float type needs: bits of the stored fraction, exponent of the least normal number.
struct float_format {
  int fraction_bits;
  int least_exponent;
  double largest;
  bool has_infinity;
};

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

template <class T>
void integers_from(const void* array, std::int64_t first, std::int64_t* to, std::int64_t n) {
  const T* from = static_cast<const T*>(array) + first;
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<std::int64_t>(from[i]);
}

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

/// What an integer becomes when the output's dtype holds it. A bool is 0 or 1; a kernel that stores another byte is wrong.
std::int64_t wrapped(dtype type, std::int64_t value) {
  switch (type) {
    case dtype::i32:
      return static_cast<std::int32_t>(value);
    case dtype::i16:
      return static_cast<std::int16_t>(value);
    case dtype::i8:
      return static_cast<std::int8_t>(value);
    case dtype::u8:
      return static_cast<std::uint8_t>(value);
    case dtype::boolean:
      return value != 0 ? 1 : 0;
    default:
      return value;
  }
}

/// Sums and maxima of one chunk.
struct chunk_result {
  double worst = 0;
  std::int64_t bad = 0;
  double difference2 = 0, reference2 = 0;
};

/// Four elements at a time. Not eight: g++ 12 takes comparisons of wider vectors apart into scalars.
using reals = double __attribute__((vector_size(32)));
using masks = std::int64_t __attribute__((vector_size(32)));
constexpr std::int64_t width = 4;
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
    const reals out = (magnitude(rounded) > largest) ? signed_overflow : rounded;
    const reals kept = (magnitude(x) <= largest_double) ? out : x;
    std::memcpy(values + i, &kept, sizeof(kept));
  }
}

void round_to(dtype type, double* values, std::int64_t n) {
  if (type == dtype::f64) return;
  const float_format format = format_of(type);
  const double overflow = format.has_infinity ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  round_chunk(values, n, std::ldexp(1.0, format.least_exponent), std::ldexp(1.5, 52 - format.fraction_bits), format.largest, overflow);
  if (!format.has_infinity) {
    for (std::int64_t i = 0; i < n; ++i) values[i] = std::isinf(values[i]) ? overflow : values[i];
  }
}

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

struct task {
  const compare_spec& spec;
  dtype type;
  const void* got;
  const void* expected;
  expected_form form;
  double scale;
};

/// Partial result of a range of elements.
struct range_result {
  comparison c;
  double difference2 = 0, reference2 = 0;
};

chunk_result judge(const task& t, const double* got, const double* expected, std::int64_t n) {
  switch (t.spec.mode) {
    case compare_mode::allclose:
      return chunk_allclose(got, expected, n, t.spec.atol * t.scale, t.spec.rtol * t.scale);
    case compare_mode::normwise:
      return chunk_norms(got, expected, n);
    case compare_mode::bitwise:
    case compare_mode::ulp:
      break;
  }
  const float_format format = format_of(t.type);
  const double units = t.spec.mode == compare_mode::ulp ? t.spec.ulp * t.scale : 0.0;
  return chunk_ulp(got, expected, n, std::ldexp(1.0, format.least_exponent), std::ldexp(1.0, -format.fraction_bits), units);
}

/// Any number of elements: what is left of a vector is filled up with equal pairs.
chunk_result judge_padded(const task& t, const double* got, const double* expected, std::int64_t n) {
  const std::int64_t whole = n / width * width;
  chunk_result result = whole > 0 ? judge(t, got, expected, whole) : chunk_result{};
  if (whole == n) return result;
  alignas(64) std::array<double, static_cast<std::size_t>(width)> last_got{}, last_expected{};
  std::copy(got + whole, got + n, last_got.begin());
  std::copy(expected + whole, expected + n, last_expected.begin());
  const chunk_result last = judge(t, last_got.data(), last_expected.data(), width);
  result.worst = std::max(result.worst, last.worst);
  result.bad += last.bad;
  result.difference2 += last.difference2;
  result.reference2 += last.reference2;
  return result;
}

/// Names the first element outside the budget in a chunk known to hold one.
void locate(const task& t, const double* got, const double* expected, std::int64_t first, std::int64_t n, comparison& c) {
  for (std::int64_t i = 0; i < n; ++i) {
    if (judge_padded(t, got + i, expected + i, 1).bad == 0) continue;
    c.first_failure = first + i;
    c.got = got[i];
    c.expected = expected[i];
    return;
  }
}

range_result compare_floats(const task& t, std::int64_t begin, std::int64_t end) {
  range_result result;
  alignas(64) std::array<double, chunk_elements> got{}, expected{};
  const bool rounds = t.form == expected_form::wide && (t.spec.mode == compare_mode::bitwise || t.spec.mode == compare_mode::ulp);
  for (std::int64_t first = begin; first < end; first += chunk_elements) {
    const std::int64_t n = std::min(chunk_elements, end - first);
    const double* g = got.data();
    const double* e = expected.data();
    if (t.type == dtype::f64) {
      g = static_cast<const double*>(t.got) + first;
    } else {
      widen(t.type, t.got, first, got.data(), n);
    }
    if (t.form == expected_form::wide && !rounds) {
      e = static_cast<const double*>(t.expected) + first;
    } else if (t.form == expected_form::wide) {  // a chunk buffer is a whole number of vectors, so rounding may run over the end
      std::memcpy(expected.data(), static_cast<const double*>(t.expected) + first, static_cast<std::size_t>(n) * sizeof(double));
      round_to(t.type, expected.data(), n);
    } else {
      widen(t.type, t.expected, first, expected.data(), n);
    }
    const chunk_result chunk = judge_padded(t, g, e, n);
    result.difference2 += chunk.difference2;
    result.reference2 += chunk.reference2;
    result.c.max_error = std::max(result.c.max_error, chunk.worst);
    if (chunk.bad > 0 && result.c.first_failure < 0) locate(t, g, e, first, n, result.c);
    result.c.failures += chunk.bad;
  }
  return result;
}

range_result compare_integers(const task& t, std::int64_t begin, std::int64_t end) {
  range_result result;
  const bool exact = t.spec.mode == compare_mode::bitwise || t.spec.mode == compare_mode::normwise;
  std::array<std::int64_t, chunk_elements> got, expected;
  for (std::int64_t first = begin; first < end; first += chunk_elements) {
    const std::int64_t n = std::min(chunk_elements, end - first);
    widen_integers(t.type, t.got, first, got.data(), n);
    if (t.form == expected_form::wide) {
      std::memcpy(expected.data(), static_cast<const std::int64_t*>(t.expected) + first,
                  static_cast<std::size_t>(n) * sizeof(std::int64_t));
      for (std::int64_t i = 0; i < n; ++i) expected[static_cast<std::size_t>(i)] = wrapped(t.type, expected[static_cast<std::size_t>(i)]);
    } else {
      widen_integers(t.type, t.expected, first, expected.data(), n);
    }
    if (std::memcmp(got.data(), expected.data(), static_cast<std::size_t>(n) * sizeof(std::int64_t)) == 0) continue;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      if (got[i] == expected[i]) continue;
      const double r = static_cast<double>(expected[i]), difference = std::fabs(static_cast<double>(got[i]) - r);
      double tolerance = 0;
      if (!exact)
        tolerance = t.spec.mode == compare_mode::ulp ? t.spec.ulp * t.scale : (t.spec.atol + t.spec.rtol * std::fabs(r)) * t.scale;
      const double error = tolerance > 0 ? std::min(difference / tolerance, max_reported_error) : max_reported_error;
      result.c.max_error = std::max(result.c.max_error, error);
      if (error <= 1.0) continue;
      if (result.c.failures++ > 0) continue;
      result.c.first_failure = first + static_cast<std::int64_t>(i);
      result.c.got = static_cast<double>(got[i]);
      result.c.expected = r;
    }
  }
  return result;
}

}  // namespace

comparison compare(const compare_spec& spec, dtype type, const void* got, const void* expected, expected_form form, std::int64_t count,
                   double scale, int threads) {
  const task t{spec, type, got, expected, form, scale};
  std::vector<range_result> parts(static_cast<std::size_t>(std::max(threads, 1)));
  in_parts(count, elements_per_thread, threads, [&](int part, std::int64_t begin, std::int64_t end) {
    parts[static_cast<std::size_t>(part)] = is_float(type) ? compare_floats(t, begin, end) : compare_integers(t, begin, end);
  });
  comparison whole;
  double difference2 = 0, reference2 = 0;
  for (const range_result& part : parts) {
    whole.max_error = std::max(whole.max_error, part.c.max_error);
    whole.failures += part.c.failures;
    difference2 += part.difference2;
    reference2 += part.reference2;
    if (whole.first_failure < 0 && part.c.first_failure >= 0) {
      whole.first_failure = part.c.first_failure;
      whole.got = part.c.got;
      whole.expected = part.c.expected;
    }
  }
  if (spec.mode == compare_mode::normwise && is_float(type)) {
    const double limit = spec.norm * scale * std::sqrt(reference2), distance = std::sqrt(difference2);
    const double error = distance == 0 ? 0 : limit > 0 ? std::min(distance / limit, max_reported_error) : max_reported_error;
    whole.max_error = std::max(whole.max_error, error);
    if (!(error <= 1.0)) ++whole.failures;
  }
  whole.match = whole.failures == 0;
  return whole;
}

}  // namespace kernsmith::harness
