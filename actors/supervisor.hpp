// SUPERVISOR: the root of the tree. Starts the children in order, starts stateless ones (synthesizer, publisher) again when they die, with
// back-off and a limit, and ends everything in an orderly way when one that holds state (librarian, fleet, coordinator) is lost.
#pragma once

#include <functional>
#include <memory>

#include "actors/coordinator.hpp"
#include "actors/fleet.hpp"
#include "actors/librarian.hpp"
#include "actors/presenter.hpp"
#include "actors/publisher.hpp"
#include "actors/synthesizer.hpp"

namespace kernsmith::actors {

struct supervisor_config {
  std::shared_ptr<memory::store> store;
  publisher_config publisher;
  presenter_config presenter;
  fleet_config fleet;
  generator_factory make_generators;
  std::function<std::string(const problem& p, const std::string& target)> baseline_source;  ///< as in planner_config
  std::function<std::string()> now;
  std::function<double()> clock_s;
  std::size_t parallel_sessions = 1;
  bool detached = true;  ///< tests in virtual time spawn blocking actors as ordinary ones
  restart_limits restarts;
  std::function<synthesizer_actor(caf::actor_system&)> spawn_synthesizer;  ///< default: the rules synthesizer
};

[[nodiscard]] supervisor_actor spawn_supervisor(caf::actor_system& system, supervisor_config config);

}  // namespace kernsmith::actors
