#include "actors/restart_policy.hpp"

#include <algorithm>

namespace kernsmith::actors {

std::optional<actor_span> restart_policy::died(actor_time now) {
  while (!deaths_.empty() && now - deaths_.front() > limits_.window) deaths_.pop_front();
  if (deaths_.size() >= limits_.max_restarts) return std::nullopt;
  actor_span delay = limits_.first_delay;
  for (std::size_t i = 0; i < deaths_.size() && delay < limits_.max_delay; ++i) delay *= 2;
  deaths_.push_back(now);
  return std::min(delay, limits_.max_delay);
}

}  // namespace kernsmith::actors
