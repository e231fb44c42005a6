// The inner loops of comparing: chunks of elements converted, rounded and judged at memory speed.
#pragma once

#include <cstdint>

#include "config/dtype.hpp"

namespace kernsmith::harness {

/// Chunks handed to the judge_ functions are whole numbers of vectors of this many elements.
inline constexpr std::int64_t vector_elements = 4;

/// What rounding to a float type needs: bits of the stored fraction, exponent of the least normal number.
struct float_format {
  int fraction_bits;
  int least_exponent;
  double largest;
  bool has_infinity;
};
[[nodiscard]] float_format format_of(dtype type);

/// Elements [first, first + n) of a float array as doubles.
void widen(dtype type, const void* array, std::int64_t first, double* to, std::int64_t n);
/// Elements of an integer or bool array as they are stored.
void widen_integers(dtype type, const void* array, std::int64_t first, std::int64_t* to, std::int64_t n);
/// Rounds in place to nearest even, as storing in `type` does. May touch up to vector_elements - 1 elements more.
void round_to(dtype type, double* values, std::int64_t n);

/// Sums and maxima of one chunk.
struct chunk_result {
  double worst = 0;                        ///< largest error in units of the budget
  std::int64_t bad = 0;                    ///< elements outside of it
  double difference2 = 0, reference2 = 0;  ///< squared norms over the finite elements
};
[[nodiscard]] chunk_result judge_allclose(const double* got, const double* expected, std::int64_t n, double atol, double rtol);
/// Without dividing or converting: is every element of [first, first + n) nearer to its expectation than atol + rtol * |expected|? A "no"
/// may only mean that the dtype or the length has no quick way. `wide`: expectations are doubles.
[[nodiscard]] bool all_below(dtype type, const void* got, const void* expected, bool wide, std::int64_t first, std::int64_t n, double atol,
                             double rtol);
[[nodiscard]] chunk_result judge_ulp(const double* got, const double* expected, std::int64_t n, const float_format& format, double units);
[[nodiscard]] chunk_result judge_norms(const double* got, const double* expected, std::int64_t n);

}  // namespace kernsmith::harness
