// The search's only source of chance: xoshiro256** seeded by splitmix64. Spelled out here because the distributions of the standard library
// differ between its implementations, and a stored search must replay anywhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace kernsmith::agents {

class random_source {
 public:
  explicit random_source(std::uint64_t seed);

  [[nodiscard]] std::uint64_t bits();
  /// Uniform in [0, count), without modulo bias. `count` > 0.
  [[nodiscard]] std::size_t below(std::size_t count);
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double unit();
  [[nodiscard]] bool chance(double probability) { return unit() < probability; }
  /// A position drawn in proportion to `weights`; negative ones count as 0; uniform when all are 0. Not empty.
  [[nodiscard]] std::size_t weighted(std::span<const double> weights);

  [[nodiscard]] const std::array<std::uint64_t, 4>& state() const { return state_; }

 private:
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace kernsmith::agents
