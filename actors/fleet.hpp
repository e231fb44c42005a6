// FLEET: the device slots of this host. Gives a job to a free slot, restarts a slot that died (with back-off) and gives its job out again.
#pragma once

#include <functional>

#include <caf/fwd.hpp>

#include "actors/evaluator_slot.hpp"
#include "actors/interfaces.hpp"
#include "actors/restart_policy.hpp"

namespace kernsmith::actors {

/// How often a job is given out in all before it is answered with an infrastructure error.
inline constexpr int max_job_attempts = 3;
/// A diagnosis is not worth losing a second profiler for.
inline constexpr int max_profile_attempts = 1;

struct fleet_config {
  core_plan cores;
  evaluator_factory open;
  profiler_factory profile;
  bool detached = true;  ///< tests in virtual time spawn the slots as ordinary actors
  restart_limits restarts;
  std::function<actor_time()> now;
};

/// Spawns the fleet; it spawns its slots.
[[nodiscard]] fleet_actor spawn_fleet(caf::actor_system& system, fleet_config config);

}  // namespace kernsmith::actors
