// Profiling a CPU kernel: timings with one thread and with all, samples of where they are, a simulation of every instruction, and a
// processor model of the hottest loop. What a tool can't say here is listed as missing.
#pragma once

#include <string>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"

namespace kernsmith::cpp {

/// How a run below a simulator is kept within bounds.
inline constexpr double simulated_call_s = 0.12;  ///< longest real time of one call with one thread; 70 times that when simulated
inline constexpr double simulation_timeout_s = 90;

/// Signals of `source` on the first workload. `measured`: its evaluation, which gives the time and the roofline. Fills everything of the
/// profile but ids and the diagnosis. A kernel that does not run by itself is an error of kind bad_request.
[[nodiscard]] result<memory::profile> profile_kernel(const problem& p, const std::string& source, const memory::evaluation& measured,
                                                     const harness::evaluator_options& options);

/// A tool that profiling uses, for `doctor`.
struct profiling_tool {
  std::string name;
  bool found = false;
  std::string detail, remedy;
};
[[nodiscard]] std::vector<profiling_tool> find_profiling_tools();

}  // namespace kernsmith::cpp
