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

/// The standard normal quantile of unit_interval(bits): interpolated in a table of 4096 cells, exact in the two outermost ones.
[[nodiscard]] double normal_quantile(std::uint32_t bits);

}  // namespace kernsmith
