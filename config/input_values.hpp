// Contents of inputs: deterministic in (problem, tensor, axes, seed, content), the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith {

/// What an input is filled with. All but as_declared are contents that hurt careless kernels; they apply to float inputs whose init is
/// normal (also by default) or uniform, and leave every other input as declared. Uniform inputs never leave [lo, hi]: the bounds may be
/// what keeps the operator defined.
enum class content : std::uint8_t {
  as_declared,
  large_magnitude,  ///< normal: `std` grown by 1000 (f16: 16, f8: 8); uniform: values at the two ends
  cancellation,     ///< normal: neighbours are negatives of each other but for a last-bits rest; uniform: values that differ in their last
                    ///< bits
  denormal,         ///< below the dtype's smallest normal number; uniform without 0 in range: all at the end nearest to 0
  equal_rows,       ///< one value along the last dimension
  zeros,            ///< uniform without 0 in range: all at the end nearest to 0
};

inline constexpr std::size_t content_count = 6;

[[nodiscard]] std::string_view name_of(content kind);

/// as_declared, and the others where some input is affected by them.
[[nodiscard]] std::vector<content> applicable_contents(const problem& p);

/// compare_for, with atol in proportion to the rounding that this content brings: values 1000 times as large have errors 1000 times as
/// large, in products 10^6. Applies to a written atol too, which is meant for the inputs as declared. Never below compare_for's own.
[[nodiscard]] compare_spec compare_for(const problem& p, int tensor, const std::vector<std::int64_t>& axes, content kind);

/// Writes element_count(shape_of(tensor, axes)) elements of the tensor's dtype to `data`, row-major. Inputs that index other tensors stay
/// within their index_limits under these axes, whatever their init says. Fails when an init file can't be read. Thread-safe.
[[nodiscard]] result<void> fill_input(const problem& p, int tensor, const std::vector<std::int64_t>& axes, std::uint64_t seed, content kind,
                                      void* data);

}  // namespace kernsmith
