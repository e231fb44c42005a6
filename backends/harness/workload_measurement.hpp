// What is measured on one workload, whatever the device: the samples, what they say so far, and what becomes of them. How a sample is taken
// is each backend's own (workload_timing.hpp there).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/harness/statistics.hpp"
#include "memory/records.hpp"

namespace kernsmith::harness {

/// Samples of a baseline over a session, ns, by block.
using sample_blocks = std::vector<std::vector<double>>;

struct measured_workload {
  memory::workload_timing timing;
  ratio_estimate ratio;
  std::vector<timing_block> blocks;
  std::vector<double> cold_ns;
  std::string stopping_rule;
  bool paired = false;         ///< each block holds samples of the baseline, taken between the candidate's
  bool stopped_early = false;  ///< clearly slower than the best so far
};

/// All samples in one list.
[[nodiscard]] std::vector<double> flat(const sample_blocks& blocks);
/// Appends a block; the oldest goes when there are too many.
void keep_block(sample_blocks& blocks, std::vector<double> samples);

/// Relative width by which the measurement is judged while it goes on: of the ratio, or of the candidate's own samples where unpaired.
[[nodiscard]] double progress_width(const measured_workload& m);
/// Of the candidate's samples in one launch, bits.
[[nodiscard]] double entropy_of(const measured_workload& m, int launch);
/// Do the samples so far show that it can't come near `best_ratio` (0: none)? `baseline` is compared with where unpaired.
[[nodiscard]] bool hopeless(const measured_workload& m, const sample_blocks& baseline, double best_ratio);

/// Process launches of a measurement: `least`, and one more at a time while the 95 % interval of the ratio is wider than `wide`.
struct launch_plan {
  int least = 1, most = 1;
  double wide = 0.02;
};
/// Is one more launch wanted after `done` of them? Looks at how wide the interval is and never at where it lies, so that no verdict is
/// waited for.
[[nodiscard]] bool wants_launch(const measured_workload& m, int done, const launch_plan& plan);

/// Fills `timing` and `ratio` from the samples.
void summarise(measured_workload& m, const memory::axis_values& axes, double weight, const sample_blocks& baseline, std::uint64_t seed);
/// Timing of a baseline from all of its samples.
[[nodiscard]] memory::workload_timing timing_of_baseline(const memory::axis_values& axes, double weight, const sample_blocks& baseline);

}  // namespace kernsmith::harness
