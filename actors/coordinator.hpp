// COORDINATOR: takes sessions in order, runs as many at once as there are device slots, and replaces a planner that died by one that goes
// on from the store.
#pragma once

#include "actors/planner.hpp"

namespace kernsmith::actors {

/// How often a session's planner is replaced before the session is answered with an error.
inline constexpr int max_planner_restarts = 2;

struct coordinator_config {
  planner_config planner;  ///< template of every planner; its request is filled in per session
  std::size_t parallel_sessions = 1;
  /// Spawns a planner; tests put their own here. Defaults to spawn_planner.
  std::function<planner_actor(caf::actor_system&, planner_config)> spawn;
};

[[nodiscard]] coordinator_actor spawn_coordinator(caf::actor_system& system, coordinator_config config);

}  // namespace kernsmith::actors
