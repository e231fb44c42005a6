#include "backends/harness/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/harness/comparison_chunks.hpp"
#include "backends/harness/in_parts.hpp"

namespace kernsmith::harness {

namespace {

constexpr std::int64_t chunk_elements = 512;           // both conversion buffers fill a quarter of a first-level cache
constexpr std::int64_t elements_per_thread = 1 << 16;  // below this a thread costs more than it saves
/// An error below this share of the budget is as good as none; one nearer to the budget's end than rounding is sure of is looked at
/// closely.
constexpr double negligible_error = 1e-6, surely_inside = 1 - 1e-9;

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
      return judge_allclose(got, expected, n, t.spec.atol * t.scale, t.spec.rtol * t.scale);
    case compare_mode::normwise:
      return judge_norms(got, expected, n);
    case compare_mode::bitwise:
    case compare_mode::ulp:
      break;
  }
  return judge_ulp(got, expected, n, format_of(t.type), t.spec.mode == compare_mode::ulp ? t.spec.ulp * t.scale : 0.0);
}

/// Any number of elements: what is left of a vector is filled up with equal pairs.
chunk_result judge_padded(const task& t, const double* got, const double* expected, std::int64_t n) {
  const std::int64_t whole = n / vector_elements * vector_elements;
  chunk_result result = whole > 0 ? judge(t, got, expected, whole) : chunk_result{};
  if (whole == n) return result;
  alignas(64) std::array<double, static_cast<std::size_t>(vector_elements)> last_got{}, last_expected{};
  std::copy(got + whole, got + n, last_got.begin());
  std::copy(expected + whole, expected + n, last_expected.begin());
  const chunk_result last = judge(t, last_got.data(), last_expected.data(), vector_elements);
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

/// The same bytes are right in any mode, whatever they are.
bool same_chunk(const task& t, std::int64_t first, std::int64_t n) {
  if (t.form == expected_form::wide) return false;
  const std::size_t size = size_of(t.type), at = static_cast<std::size_t>(first) * size;
  return std::memcmp(static_cast<const char*>(t.got) + at, static_cast<const char*>(t.expected) + at, static_cast<std::size_t>(n) * size) ==
         0;
}

/// Most chunks hold nothing worse than what was seen before. That is seen at a glance.
bool nothing_worse(const task& t, std::int64_t first, std::int64_t n, double worst) {
  if (t.spec.mode == compare_mode::normwise) return false;
  if (t.spec.mode != compare_mode::allclose) return same_chunk(t, first, n);
  const double share = std::clamp(worst, negligible_error, surely_inside) * t.scale;
  return all_below(t.type, t.got, t.expected, t.form == expected_form::wide, first, n, share * t.spec.atol, share * t.spec.rtol);
}

range_result compare_floats(const task& t, std::int64_t begin, std::int64_t end) {
  range_result result;
  alignas(64) std::array<double, chunk_elements> got{}, expected{};
  const bool rounds = t.form == expected_form::wide && (t.spec.mode == compare_mode::bitwise || t.spec.mode == compare_mode::ulp);
  for (std::int64_t first = begin; first < end; first += chunk_elements) {
    const std::int64_t n = std::min(chunk_elements, end - first);
    if (nothing_worse(t, first, n, result.c.max_error)) continue;
    const double* g = got.data();
    const double* e = expected.data();
    if (t.type == dtype::f64) {
      g = static_cast<const double*>(t.got) + first;
    } else {
      widen(t.type, t.got, first, got.data(), n);
    }
    if (rounds) {  // a chunk buffer is a whole number of vectors, so rounding may run over the end
      std::memcpy(expected.data(), static_cast<const double*>(t.expected) + first, static_cast<std::size_t>(n) * sizeof(double));
      round_to(t.type, expected.data(), n);
    } else if (t.form == expected_form::wide || t.type == dtype::f64) {
      e = static_cast<const double*>(t.expected) + first;
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

comparison compare_sample(const compare_spec& spec, dtype type, const void* got, const void* expected, expected_form form,
                          std::int64_t count, double scale, int threads, std::uint64_t where) {
  const auto element = static_cast<std::int64_t>(size_of(type));
  if (spec.mode == compare_mode::normwise || count * element <= sampled_above_bytes)
    return compare(spec, type, got, expected, form, count, scale, threads);
  const std::int64_t expected_element = form == expected_form::wide ? 8 : element;  // float64 or int64
  comparison whole;
  const auto take = [&](std::int64_t first, std::int64_t n) {
    if (n <= 0) return;
    const comparison part = compare(spec, type, static_cast<const char*>(got) + first * element,
                                    static_cast<const char*>(expected) + first * expected_element, form, n, scale, threads);
    whole.max_error = std::max(whole.max_error, part.max_error);
    whole.failures += part.failures;
    if (whole.first_failure >= 0 || part.first_failure < 0) return;
    whole.first_failure = first + part.first_failure;
    whole.got = part.got;
    whole.expected = part.expected;
  };
  // Evenly spaced, from anywhere, around the end: every element is as likely to be looked at.
  const std::int64_t stretch = count / sample_windows, window = stretch / sampled_share;
  const auto start = static_cast<std::int64_t>(where % static_cast<std::uint64_t>(count));
  for (std::int64_t w = 0; w < sample_windows; ++w) {
    const std::int64_t first = (start + w * stretch) % count, end = std::min(count, first + window);
    take(first, end - first);
    take(0, first + window - end);
  }
  whole.match = whole.failures == 0;
  return whole;
}

}  // namespace kernsmith::harness
