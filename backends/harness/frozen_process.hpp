// Looks at a process from outside, by the system's own account: does it sleep, does it stand still, what may it execute.
#pragma once

#include <string>
#include <vector>

#include "backends/harness/process.hpp"

namespace kernsmith::harness {

/// Sends SIGSTOP and waits until every thread of the process has stopped. False when that took longer than `timeout_s` or the process has
/// ended. A process can't refuse, but it can have a timer continue it: compare its CPU time at the start and the end of the standstill.
[[nodiscard]] bool stop_process(int pid, const descriptor& pidfd, double timeout_s);
/// Waits for the stop that was asked for before, another `timeout_s`.
[[nodiscard]] bool await_stop(int pid, double timeout_s);
/// Is every thread of the process stopped?
[[nodiscard]] bool stands_still(int pid);
/// Does every thread of the process sleep, stopped or waiting? True when it has ended.
[[nodiscard]] bool sleeps(int pid);
/// Is a thread of it inside the system and can't be woken, as when it waits for a disk?
[[nodiscard]] bool waits_for_system(int pid);
void continue_process(const descriptor& pidfd);

/// One file, or a piece of memory without one, that a process may execute.
struct executable_mapping {
  std::string path;  ///< empty: no file behind it
  [[nodiscard]] bool operator==(const executable_mapping&) const = default;
};
/// What the process may execute now, by the system's own account; without the pages that the system puts into every process. Empty when it
/// can't be read: a living process has at least its program.
[[nodiscard]] std::vector<executable_mapping> executable_mappings(int pid);

}  // namespace kernsmith::harness
