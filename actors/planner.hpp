// PLANNER: one session from its request to its report. The course of events is agents/search/session_core.hpp; this actor asks the others
// for what the core wants and tells it what came of it.
#pragma once

#include <functional>

#include "actors/interfaces.hpp"

namespace kernsmith::actors {

struct planner_config {
  session_request request;
  librarian_actor librarian;
  synthesizer_actor synthesizer;
  fleet_actor fleet;
  presenter_actor presenter;
  /// The ways to implement a problem: the rules, then the user's seed kernels. `cores` is what a kernel may use.
  generator_factory make_generators;
  /// What the baseline of a problem was built from on a target, for its profile; empty where that can't be had. May be missing.
  std::function<std::string(const problem& p, const std::string& target)> baseline_source;
  std::function<std::string()> now;  ///< RFC 3339
  std::function<double()> clock_s;   ///< monotonic
};

[[nodiscard]] planner_actor spawn_planner(caf::actor_system& system, planner_config config);

/// How many champions of similar problems a session may start from, and how similar their problems must be (cosine).
inline constexpr std::uint64_t max_warm_starts = 4;
inline constexpr float min_warm_similarity = 0.8F;

}  // namespace kernsmith::actors
