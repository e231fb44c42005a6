#include "agents/search/credit.hpp"

#include <algorithm>

namespace kernsmith::agents {

namespace {

constexpr std::size_t memory_modes = 4;
/// A new best earns at least this much, and all of it from `full_gain` (log speed-up) on; anything else earns a little for coming near.
constexpr double new_best_reward = 0.5;
constexpr double full_gain = 0.2;
constexpr double near_reward = 0.2;

}  // namespace

credit::credit(std::size_t generators) : memories_(memory_modes), generators_(generators) {}

memory_mode credit::choose_memory() {
  return static_cast<memory_mode>(memories_.choose(std::vector<bool>(memory_modes, true)));
}

std::size_t credit::choose_generator(const std::vector<bool>& open) {
  return generators_.choose(open);
}

void credit::learn(const history& past, std::int64_t id, double gained) {
  const node& seen = past.at(id);
  double reward = 0;
  if (gained > 0) {
    reward = new_best_reward + (1 - new_best_reward) * std::min(gained / full_gain, 1.0);
  } else if (!seen.duplicate) {
    reward = near_reward * past.value(id);
  }
  // Tuning always looks at the parent alone: its steady small gains would drown what the bandit is to learn about mutations.
  if (seen.made.kind == move_kind::mutate || seen.made.kind == move_kind::crossover || seen.made.kind == move_kind::draft) {
    memories_.reward(static_cast<std::size_t>(seen.made.memory), reward);
  }
  generators_.reward(seen.made.generator, reward);
}

std::string credit::state_text() const {
  return memories_.state_text() + "|" + generators_.state_text();
}

}  // namespace kernsmith::agents
