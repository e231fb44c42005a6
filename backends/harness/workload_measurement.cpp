#include "backends/harness/workload_measurement.hpp"

#include <cmath>

namespace kernsmith::harness {

namespace {

constexpr std::size_t max_kept_blocks = 400;
constexpr double hopeless_ratio = 0.5;      // of the best so far: no more samples
constexpr std::size_t hopeless_blocks = 4;  // enough for a verdict
constexpr double slow_kernel_ns = 300e6;    // one block of a kernel slower than this is enough to see it
constexpr std::uint64_t baseline_bootstrap_seed = 1;

}  // namespace

std::vector<double> flat(const sample_blocks& blocks) {
  std::vector<double> all;
  for (const std::vector<double>& block : blocks) all.insert(all.end(), block.begin(), block.end());
  return all;
}

void keep_block(sample_blocks& blocks, std::vector<double> samples) {
  if (blocks.size() >= max_kept_blocks) blocks.erase(blocks.begin());
  blocks.push_back(std::move(samples));
}

double progress_width(const measured_workload& m) {
  if (m.paired) return quick_relative_width(m.blocks);
  std::vector<timing_block> own = m.blocks;
  for (timing_block& block : own) block.baseline_ns = {1.0};
  return quick_relative_width(own);
}

bool wants_launch(const measured_workload& m, int done, const launch_plan& plan) {
  if (done < plan.least) return true;
  if (done >= plan.most || !m.paired) return false;
  const interval ci95 = estimate_ratio(m.blocks, 0).ci95;
  return ci95.low <= 0 || ci95.high / ci95.low - 1 > plan.wide;
}

double entropy_of(const measured_workload& m, int launch) {
  std::vector<double> samples;
  for (const timing_block& block : m.blocks) {
    if (block.launch == launch) samples.insert(samples.end(), block.candidate_ns.begin(), block.candidate_ns.end());
  }
  return sample_entropy(samples);
}

bool hopeless(const measured_workload& m, const sample_blocks& baseline, double best_ratio) {
  if (best_ratio <= 0 || m.blocks.empty()) return false;
  const bool slow_kernel = median(m.blocks.front().candidate_ns) > slow_kernel_ns;
  if (!slow_kernel && m.blocks.size() < hopeless_blocks) return false;
  std::vector<double> ratios;
  for (const timing_block& block : m.blocks)
    ratios.push_back(m.paired ? std::exp(log_ratio(block)) : median(flat(baseline)) / median(block.candidate_ns));
  return median(ratios) < hopeless_ratio * best_ratio;
}

void summarise(measured_workload& m, const memory::axis_values& axes, double weight, const sample_blocks& baseline_blocks,
               std::uint64_t seed) {
  std::vector<double> candidate, baseline;
  sample_blocks candidate_blocks;
  for (const timing_block& block : m.blocks) {
    candidate.insert(candidate.end(), block.candidate_ns.begin(), block.candidate_ns.end());
    baseline.insert(baseline.end(), block.baseline_ns.begin(), block.baseline_ns.end());
    candidate_blocks.push_back(block.candidate_ns);
  }
  if (!m.paired) baseline = flat(baseline_blocks);
  m.ratio = m.paired ? estimate_ratio(m.blocks, seed) : estimate_unpaired_ratio(candidate, baseline, seed);
  const interval ci = median_interval(candidate_blocks, seed);
  m.timing.axes = axes;
  m.timing.weight = weight;
  m.timing.median_ns = median(candidate);
  m.timing.p10_ns = percentile(candidate, 0.1);
  m.timing.p90_ns = percentile(candidate, 0.9);
  m.timing.p99_ns = percentile(candidate, 0.99);
  m.timing.ci95_ns = {ci.low, ci.high};
  m.timing.samples = static_cast<std::int64_t>(candidate.size());
  m.timing.baseline_median_ns = median(baseline);
  m.timing.speedup = m.ratio.ratio;
  m.timing.ci95 = {m.ratio.ci95.low, m.ratio.ci95.high};
  m.timing.verdict = name_of(m.ratio.decision);
  m.timing.cold_median_ns = median(m.cold_ns);
}

memory::workload_timing timing_of_baseline(const memory::axis_values& axes, double weight, const sample_blocks& baseline) {
  const std::vector<double> all = flat(baseline);
  const interval ci = median_interval(baseline, baseline_bootstrap_seed);
  memory::workload_timing t;
  t.axes = axes;
  t.weight = weight;
  t.median_ns = t.baseline_median_ns = median(all);
  t.p10_ns = percentile(all, 0.1);
  t.p90_ns = percentile(all, 0.9);
  t.p99_ns = percentile(all, 0.99);
  t.ci95_ns = {ci.low, ci.high};
  t.samples = static_cast<std::int64_t>(all.size());
  return t;
}

}  // namespace kernsmith::harness
