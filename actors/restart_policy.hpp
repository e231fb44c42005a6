// When a dead child is started again and when its parent gives up. Pure: the time is passed in.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>

namespace kernsmith::actors {

using actor_time = std::chrono::steady_clock::time_point;
using actor_span = std::chrono::milliseconds;

struct restart_limits {
  std::size_t max_restarts = 5;  ///< within `window`; one more means giving up
  actor_span window = std::chrono::minutes(1);
  actor_span first_delay = std::chrono::milliseconds(100);
  actor_span max_delay = std::chrono::seconds(10);
};

/// The restart history of one child.
class restart_policy {
 public:
  explicit restart_policy(restart_limits limits = {}) : limits_(limits) {}

  /// The child died at `now`: how long to wait before starting it again (doubling with each death in the window), or nothing: escalate.
  [[nodiscard]] std::optional<actor_span> died(actor_time now);
  [[nodiscard]] std::size_t recent() const { return deaths_.size(); }

 private:
  restart_limits limits_;
  std::deque<actor_time> deaths_;
};

}  // namespace kernsmith::actors
