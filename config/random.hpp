// Counter-based random numbers: element i of a stream depends on (seed, i) alone, so any part of an input can be made on its own.
#pragma once

#include <cstdint>

namespace kernsmith {

/// 64 random bits for counter `i` of stream `seed` (the finaliser of SplitMix64).
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
  std::uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// 32 of them; two neighbours share one evaluation where the compiler sees it.
[[nodiscard]] constexpr std::uint32_t random_half(std::uint64_t seed, std::uint64_t i) {
  const std::uint64_t bits = random_bits(seed, i >> 1);
  return static_cast<std::uint32_t>((i & 1) == 0 ? bits : bits >> 32);
}

/// Uniform over [0, n) from 32 bits (n <= 2^32): the high half of the product, biased by less than n / 2^32.
[[nodiscard]] constexpr std::uint64_t scale_to(std::uint32_t bits, std::uint64_t n) {
  return (static_cast<std::uint64_t>(bits) * n) >> 32;
}

/// Uniform in (0, 1), symmetric.
[[nodiscard]] constexpr double unit_interval(std::uint32_t bits) {
  return (static_cast<double>(bits) + 0.5) * 0x1p-32;
}

/// The standard normal law by its quantiles: interpolated in a table of 4096 cells, exact in the two outermost ones. Holds a reference to a
/// table made on first use.
class normal_law {
 public:
  normal_law();
  /// The quantile of unit_interval(bits).
  [[nodiscard]] double quantile(std::uint32_t bits) const {
    const std::uint32_t cell = bits >> fraction_bits;
    if (cell == 0 || cell == cells - 1) return exact(bits);
    const double fraction = (static_cast<double>(bits & ((1u << fraction_bits) - 1)) + 0.5) * (1.0 / (1u << fraction_bits));
    return table_[cell] + fraction * (table_[cell + 1] - table_[cell]);
  }

 private:
  static constexpr int fraction_bits = 20;
  static constexpr std::uint32_t cells = 4096;
  static double exact(std::uint32_t bits);

  const double* table_;
};

}  // namespace kernsmith
