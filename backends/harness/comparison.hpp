// Comparing a kernel's outputs with the expected ones, and finding what it left unwritten or wrote where it may not. Pure functions over
// memory that the verifier owns; made to run at memory speed, because every timed call's outputs pass through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "config/dtype.hpp"
#include "config/problem.hpp"

namespace kernsmith::harness {

/// Errors are reported in units of the budget, and never above this (records hold no infinities).
inline constexpr double max_reported_error = 1e30;

struct comparison {
  bool match = true;
  double max_error = 0;             ///< largest error in units of the budget: 1 is the limit
  std::int64_t failures = 0;        ///< elements outside the budget (normwise: 1 when the norm is)
  std::int64_t first_failure = -1;  ///< index of the first such element, row-major
  double got = 0, expected = 0;     ///< there
};

/// What `expected` holds.
enum class expected_form : std::uint8_t {
  wide,    ///< double per element for float outputs, int64 for integers and bool: not rounded
  native,  ///< elements of the output's own dtype
};

/// Compares `count` elements. Float modes: `bitwise` (expected rounded to the dtype; zeros of either sign are equal, any NaN equals any
/// NaN), `ulp` (distance from the rounded expected value in units in the last place), `allclose` (|y - r| <= atol + rtol |r|), `normwise`
/// (2-norm over the whole output). NaN and infinities must stand in the same places in every mode. Integers and bool: expected values wrap
/// to the dtype; `bitwise` and `normwise` mean equality, the others apply to the values. `scale` multiplies the budget. `threads` >= 1.
[[nodiscard]] comparison compare(const compare_spec& spec, dtype type, const void* got, const void* expected, expected_form form,
                                 std::int64_t count, double scale = 1, int threads = 1);
/// Of large outputs a quarter that `where` chooses, in a few windows. All of outputs up to `sampled_above_bytes`, and all
/// wherever the mode looks at outputs as a whole.
[[nodiscard]] comparison compare_sample(const compare_spec& spec, dtype type, const void* got, const void* expected, expected_form form,
                                        std::int64_t count, double scale, int threads, std::uint64_t where);
inline constexpr std::int64_t sampled_above_bytes = std::int64_t{8} << 20, sample_windows = 4, sampled_share = 4;

/// memcmp on several threads.
[[nodiscard]] bool same_bytes(const void* a, const void* b, std::size_t bytes, int threads = 1);

/// memcpy on several threads.
void copy_bytes(void* to, const void* from, std::size_t bytes, int threads = 1);

/// A repeated 8-byte word that marks memory as not yet written.
struct poison {
  std::uint64_t word = 0;
  /// Quiet NaNs in every float type.
  [[nodiscard]] static poison not_a_number();
  /// Finite, unpredictable values.
  [[nodiscard]] static poison finite(std::uint64_t random);
};
void fill_poison(void* data, std::size_t bytes, poison pattern, int threads = 1);
/// Poisons one cache line in each page, at a place that `random` chooses: cheap enough for every timed call.
void fill_poison_sampled(void* data, std::size_t bytes, poison pattern, std::uint64_t random);
/// Does element `index` still hold the poison?
[[nodiscard]] bool is_poisoned(const void* data, std::int64_t index, dtype type, poison pattern);

}  // namespace kernsmith::harness
