// What counts of a device say: candidate and baseline on the same contents, exact where the target's counter is, with an interval where it
// isn't. Values in, values out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/harness/statistics.hpp"
#include "memory/records.hpp"

namespace kernsmith::external {

/// Counts of one leg on the same contents as the other's, in the same order.
struct counted_pair {
  std::vector<double> candidate, baseline;
};

/// The ratio of exact counts: baseline's sum over candidate's sum. The interval spans the contents' own ratios, so that counts that depend
/// on data show it. `faster` or `slower` when all contents say so, `no_difference` when all are equal, else `unresolved`.
[[nodiscard]] harness::ratio_estimate exact_ratio(const counted_pair& counts);

/// Medians, percentiles and the verdict; everything in the target's own unit.
[[nodiscard]] memory::workload_timing timing_of(const std::vector<double>& candidate, const std::vector<double>& baseline,
                                                const harness::ratio_estimate& ratio, bool exact, std::uint64_t seed);

}  // namespace kernsmith::external
