#include "backends/external/counting.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kernsmith::external {

harness::ratio_estimate exact_ratio(const counted_pair& counts) {
  harness::ratio_estimate estimate;
  const std::size_t n = std::min(counts.candidate.size(), counts.baseline.size());
  double candidate = 0, baseline = 0, low = 0, high = 0;
  bool all_less = n > 0, all_more = n > 0, all_equal = n > 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double c = counts.candidate[i], b = counts.baseline[i];
    if (!(c > 0) || !(b > 0)) return estimate;  // a count of nothing is no measurement
    candidate += c;
    baseline += b;
    low = i == 0 ? b / c : std::min(low, b / c);
    high = std::max(high, b / c);
    all_less &= c < b;
    all_more &= c > b;
    all_equal &= c == b;
  }
  if (n == 0) return estimate;
  estimate.ratio = baseline / candidate;
  estimate.ci95 = {low, high};
  using harness::verdict;
  estimate.decision = all_less ? verdict::faster : all_more ? verdict::slower : all_equal ? verdict::no_difference : verdict::unresolved;
  // For combining workloads: the contents' own ratios, over and over, stand in for draws.
  for (int draw = 0; draw < harness::bootstrap_draws; ++draw) {
    const std::size_t i = static_cast<std::size_t>(draw) % n;
    estimate.log_draws.push_back(std::log(counts.baseline[i] / counts.candidate[i]));
  }
  return estimate;
}

memory::workload_timing timing_of(const std::vector<double>& candidate, const std::vector<double>& baseline,
                                  const harness::ratio_estimate& ratio, bool exact, std::uint64_t seed) {
  memory::workload_timing t;
  t.median_ns = harness::median(candidate);
  t.p10_ns = harness::percentile(candidate, 0.1);
  t.p90_ns = harness::percentile(candidate, 0.9);
  t.p99_ns = harness::percentile(candidate, 0.99);
  t.samples = static_cast<std::int64_t>(candidate.size());
  t.baseline_median_ns = harness::median(baseline);
  if (!candidate.empty()) {
    if (exact) {
      const auto [low, high] = std::minmax_element(candidate.begin(), candidate.end());
      t.ci95_ns = {*low, *high};
    } else {
      std::vector<std::vector<double>> blocks;
      for (const double value : candidate) blocks.push_back({value});
      const harness::interval i = harness::median_interval(blocks, seed);
      t.ci95_ns = {i.low, i.high};
    }
  }
  if (ratio.ratio > 0) {
    t.speedup = ratio.ratio;
    t.ci95 = {ratio.ci95.low, ratio.ci95.high};
    t.verdict = harness::name_of(ratio.decision);
  }
  return t;
}

}  // namespace kernsmith::external
