// Calls of launch on the device, as many in one run as its memory allows, judged by what they left behind.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/cpp/workbench.hpp"
#include "backends/external/target_commands.hpp"

namespace kernsmith::external {

/// What a list of calls gave.
struct run_outcome {
  cpp::check_result check;                 ///< of the first call that was wrong, else of all
  std::vector<double> counts;              ///< the objective's counter, per call in the calls' order
  std::map<std::string, double> counters;  ///< all counters of the last call
  bool unexplained = false;                ///< a run broke down and said nothing of why
};

class device_runs {
 public:
  /// Both must outlive this. Not thread-safe.
  device_runs(cpp::workbench& bench, const target_commands& commands) : bench_(bench), commands_(commands) {}

  /// Runs the calls in order until one is wrong. Errors are this machine's faults, and problems too large for the device.
  [[nodiscard]] result<run_outcome> run(const harness::built_kernel& kernel, const std::vector<device_call>& calls);
  /// Counters that the target's profile command reports for one call; none without such a command, or when it fails.
  [[nodiscard]] std::map<std::string, double> profile(const harness::built_kernel& kernel, const device_call& call);
  /// Seconds that runs have taken.
  [[nodiscard]] double spent_s() const { return spent_s_; }

 private:
  [[nodiscard]] result<call_memory> place(const std::vector<device_call>& calls, std::size_t workspace);
  [[nodiscard]] result<void> run_batch(const harness::built_kernel& kernel, const std::vector<device_call>& calls, std::size_t workspace,
                                       run_outcome& so_far);
  [[nodiscard]] const external_run& limits() const { return commands_.target().run; }
  [[nodiscard]] std::size_t workspace_for(const std::vector<device_call>& calls) const;

  cpp::workbench& bench_;
  const target_commands& commands_;
  double spent_s_ = 0;
};

}  // namespace kernsmith::external
