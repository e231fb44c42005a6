// How one workload is timed on the device: against whom, in what batches, for how long.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/paired_timing.hpp"
#include "backends/harness/workload_measurement.hpp"

namespace kernsmith::cuda {

struct timing_limits {
  double kernel_s = 0.1;  ///< time for kernels on this workload, all launches together
  int least_blocks = 4, most_blocks = 40;
  double relative_width = 0.02;
  double slowest_paired_ns = 40e6;  ///< a baseline call above this is not interleaved
  harness::launch_plan launches;
  bool cold = false;
  bool stops_early = false;
  bool anchored = false;  ///< a last timed call is checked against the reference, whoever gave the expected outputs before
};
[[nodiscard]] timing_limits limits_for(effort how, std::size_t workloads);

/// Starts a fresh process of the candidate.
using process_starter = std::function<result<kernel_process>()>;

struct workload_measurement : harness::measured_workload {
  check_result failure;
  std::int64_t checked = 0;
  double event_ns = 0;   ///< of one call, by the candidate's device events
  double device_ns = 0;  ///< of one call, by CUPTI; 0: not counted
  std::vector<device_state> states;
  int discarded_blocks = 0;
  int batch = 1;
};

/// Times `candidate` (already verified) on one workload. `best_ratio` is the best speed-up known there, 0: none. `by_champion`: where the
/// baseline is slow, the bench's champion, if there is one, may say what timed calls must give; should it turn out to be wrong, this is an
/// error and the bench has no champion any more.
[[nodiscard]] result<workload_measurement> measure_workload(workbench& bench, workload_state& w, kernel_process& candidate,
                                                            const process_starter& relaunch, const timing_limits& limits, double best_ratio,
                                                            bool by_champion);

/// Outside time of one call, after the device was handed to the process. `status` and `detail` tell how it ended.
[[nodiscard]] result<double> one_call_ns(kernel_process& process, device_buffers& buffers, harness::call_status& status,
                                         std::string& detail);

/// A baseline further off than this many budgets can't stand in for the reference.
inline constexpr double trusted_error_limit = 25;

/// First samples of all baselines on one workload, and their error against the reference.
[[nodiscard]] result<void> measure_baselines(workbench& bench, workload_state& w);

}  // namespace kernsmith::cuda
