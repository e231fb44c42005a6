// How one workload is timed: against whom, in what batches, for how long.
#pragma once

#include <functional>
#include <optional>

#include "backends/cpp/paired_timing.hpp"
#include "backends/cpp/processor_state.hpp"
#include "backends/cpp/workbench.hpp"
#include "backends/harness/workload_measurement.hpp"

namespace kernsmith::cpp {

/// The fastest verified candidate so far. Where the baseline is too slow to be called for every sample, it computes what timed calls must
/// give.
struct champion {
  std::filesystem::path library;
  double speedup = 0;
  std::vector<double> ratios;             ///< speed-up per workload
  std::optional<kernel_process> process;  ///< with trusted buffers only
};

struct timing_limits {
  double kernel_s = 0.1;  ///< time for kernels on this workload, all launches together
  int least_blocks = 4, most_blocks = 40;
  double relative_width = 0.02;
  double slowest_paired_ns = 40e6;  ///< a baseline call above this is not interleaved
  harness::launch_plan launches;
  bool cold = false;
  bool stops_early = false;     ///< a few samples will do for what is far slower than the best so far
  bool samples_outputs = true;  ///< large outputs of timed calls are compared in part
  bool anchored = false;        ///< a last timed call is checked against the reference, whoever gave the expected outputs before
};
[[nodiscard]] timing_limits limits_for(effort how, std::size_t workloads);

/// Starts a fresh process of the candidate.
using process_starter = std::function<result<kernel_process>()>;

/// How the processor ran before and after a block.
struct block_conditions {
  processor_state before, after;
};

struct workload_measurement : harness::measured_workload {
  std::vector<block_conditions> conditions;  ///< parallel to the blocks
  check_result failure;                      ///< a timed call that was not right
  std::int64_t checked = 0;
  double inside_ns = 0;
};

/// Times `candidate` (already verified) on one workload. `best_ratio` is the best speed-up known there, 0: none.
[[nodiscard]] result<workload_measurement> measure_workload(workbench& bench, workload_state& w, kernel_process& candidate,
                                                            const process_starter& relaunch, champion& best, const timing_limits& limits,
                                                            double best_ratio);

/// First samples of all baselines on one workload, and their error against the reference.
[[nodiscard]] result<void> measure_baselines(workbench& bench, workload_state& w);

}  // namespace kernsmith::cpp
