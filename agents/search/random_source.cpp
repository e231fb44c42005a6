#include "agents/search/random_source.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace kernsmith::agents {

random_source::random_source(std::uint64_t seed) {
  for (auto& word : state_) {
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = seed;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebULL;
    word = mixed ^ (mixed >> 31U);
  }
}

std::uint64_t random_source::bits() {
  const std::uint64_t drawn = std::rotl(state_[1] * 5U, 7) * 9U;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return drawn;
}

std::size_t random_source::below(std::size_t count) {
  assert(count > 0);
  const std::uint64_t range = count;
  const std::uint64_t rejected = (0 - range) % range;  // the low draws that would make some remainders likelier
  std::uint64_t drawn = bits();
  while (drawn < rejected) {
    drawn = bits();
  }
  return static_cast<std::size_t>(drawn % range);
}

double random_source::unit() {
  return static_cast<double>(bits() >> 11U) * 0x1.0p-53;
}

std::size_t random_source::weighted(std::span<const double> weights) {
  assert(!weights.empty());
  double total = 0;
  for (const double weight : weights) {
    total += std::max(weight, 0.0);
  }
  if (total <= 0) {
    return below(weights.size());
  }
  double left = unit() * total;
  std::size_t last = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) {
      continue;
    }
    last = i;
    left -= weights[i];
    if (left < 0) {
      return i;
    }
  }
  return last;  // rounding left a crumb
}

}  // namespace kernsmith::agents
