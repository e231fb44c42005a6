#include "backends/harness/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>

namespace kernsmith::harness {

namespace {

/// splitmix64: a few lines, the same everywhere, and good enough to draw indices.
class generator {
 public:
  explicit generator(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

double mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double m = mean(values);
  double sum = 0;
  for (double v : values) sum += (v - m) * (v - m);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

/// Two-sided quantiles of the normal distribution for the two levels in use.
constexpr double normal_95 = 1.960, normal_995 = 2.807;

/// Student's t for small samples, by the Cornish-Fisher expansion in 1/n about the normal quantile; within 2 % from three degrees of
/// freedom on.
double student(double z, double freedom) {
  if (freedom < 1) return 10 * z;
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  const double g1 = (z3 + z) / 4, g2 = (5 * z5 + 16 * z3 + 3 * z) / 96, g3 = (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384;
  return z + g1 / freedom + g2 / (freedom * freedom) + g3 / (freedom * freedom * freedom);
}

/// Percentile interval of `draws`, spread about `centre` by `factor`.
interval spread_interval(const std::vector<double>& draws, double centre, double level, double factor) {
  const double tail = (1 - level) / 2;
  const double low = percentile(draws, tail), high = percentile(draws, 1 - tail);
  return {centre + (low - centre) * factor, centre + (high - centre) * factor};
}

verdict judge(double log_centre, const interval& strict, const interval& ci95, std::size_t blocks, const verdict_policy& policy) {
  if (blocks < static_cast<std::size_t>(policy.least_blocks)) return verdict::unresolved;
  if (strict.low > 0 && log_centre > std::log1p(policy.least_effect)) return verdict::faster;
  if (strict.high < 0 && log_centre < -std::log1p(policy.least_effect)) return verdict::slower;
  const double margin = std::log1p(policy.equivalence_margin);
  return ci95.low > -margin && ci95.high < margin ? verdict::no_difference : verdict::unresolved;
}

/// Several process launches: where a launch's code and data lie shifts all of its blocks together, by more than the blocks differ among
/// themselves. Each launch counts as one observation, the ratio of its legs' medians; Student's interval of their mean.
ratio_estimate over_launches(const std::vector<double>& log_ratios, std::size_t blocks, generator& random, const verdict_policy& policy) {
  const double centre = mean(log_ratios), n = static_cast<double>(log_ratios.size());
  const double error = deviation(log_ratios) / std::sqrt(n);
  const double half95 = student(normal_95, n - 1) * error, half_strict = student(normal_995, n - 1) * error;
  ratio_estimate estimate;
  estimate.ratio = std::exp(centre);
  estimate.ci95 = {std::exp(centre - half95), std::exp(centre + half95)};
  estimate.decision = judge(centre, {centre - half_strict, centre + half_strict}, {centre - half95, centre + half95}, blocks, policy);
  for (int draw = 0; draw < bootstrap_draws; ++draw) estimate.log_draws.push_back(centre + error * random.normal());
  return estimate;
}

ratio_estimate finish(double centre, std::vector<double> draws, std::size_t blocks, double freedom, const verdict_policy& policy) {
  const double n = static_cast<double>(std::max<std::size_t>(blocks, 1));
  const double small = blocks > 1 ? std::sqrt(n / (n - 1)) : 1;
  const interval ci95 = spread_interval(draws, centre, 0.95, small * student(normal_95, freedom) / normal_95);
  const interval strict = spread_interval(draws, centre, policy.strict_level, small * student(normal_995, freedom) / normal_995);
  ratio_estimate estimate;
  estimate.ratio = std::exp(centre);
  estimate.ci95 = {std::exp(ci95.low), std::exp(ci95.high)};
  estimate.decision = judge(centre, strict, ci95, blocks, policy);
  estimate.log_draws = std::move(draws);
  return estimate;
}

class relative_width_rule : public stopping_rule {
 public:
  explicit relative_width_rule(const relative_width_parameters& parameters) : parameters_(parameters) {}
  bool done(const measuring_progress& progress) const override {
    if (progress.blocks >= parameters_.most_blocks) return true;
    if (progress.blocks < parameters_.least_blocks) return false;
    return progress.spent_s >= parameters_.most_s || progress.relative_width <= parameters_.relative_width;
  }
  std::string describe() const override {
    return fmt::format("relative_width(relative_width={}, least_blocks={}, most_blocks={}, most_s={})", parameters_.relative_width,
                       parameters_.least_blocks, parameters_.most_blocks, parameters_.most_s);
  }

 private:
  relative_width_parameters parameters_;
};

class entropy_rule : public stopping_rule {
 public:
  explicit entropy_rule(const entropy_parameters& parameters) : parameters_(parameters) {}
  bool done(const measuring_progress& progress) const override {
    if (progress.blocks >= parameters_.most_blocks) return true;
    if (progress.blocks < parameters_.least_blocks) return false;
    return progress.spent_s >= parameters_.most_s || std::fabs(slope(progress.entropy_bits)) <= parameters_.slope_bits;
  }
  std::string describe() const override {
    return fmt::format("entropy(slope_bits={}, window={}, least_blocks={}, most_blocks={}, most_s={})", parameters_.slope_bits,
                       parameters_.window, parameters_.least_blocks, parameters_.most_blocks, parameters_.most_s);
  }

 private:
  /// Of the least-squares line through the last entropies; endless while there are too few for one.
  [[nodiscard]] double slope(const std::vector<double>& entropies) const {
    const auto window = static_cast<std::size_t>(std::max(parameters_.window, 2));
    if (entropies.size() < window) return std::numeric_limits<double>::infinity();
    const double middle = static_cast<double>(window - 1) / 2;
    double products = 0, squares = 0;
    for (std::size_t i = 0; i < window; ++i) {
      const double x = static_cast<double>(i) - middle;
      products += x * entropies[entropies.size() - window + i];
      squares += x * x;
    }
    return products / squares;
  }

  entropy_parameters parameters_;
};

class fixed_count_rule : public stopping_rule {
 public:
  explicit fixed_count_rule(int blocks) : blocks_(blocks) {}
  bool done(const measuring_progress& progress) const override { return progress.blocks >= blocks_; }
  std::string describe() const override { return fmt::format("fixed_count(blocks={})", blocks_); }

 private:
  int blocks_;
};

}  // namespace

double percentile(std::vector<double> samples, double quantile) {
  if (samples.empty()) return 0;
  const double position = std::clamp(quantile, 0.0, 1.0) * static_cast<double>(samples.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  std::nth_element(samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(below), samples.end());
  const double low = samples[below];
  if (below + 1 >= samples.size()) return low;
  const double high = *std::min_element(samples.begin() + static_cast<std::ptrdiff_t>(below) + 1, samples.end());
  return low + (high - low) * (position - static_cast<double>(below));
}

double median(std::vector<double> samples) {
  return percentile(std::move(samples), 0.5);
}

const char* name_of(verdict v) {
  switch (v) {
    case verdict::faster:
      return "faster";
    case verdict::slower:
      return "slower";
    case verdict::no_difference:
      return "no_difference";
    case verdict::unresolved:
      return "unresolved";
  }
  return "unresolved";
}

double log_ratio(const timing_block& block) {
  return std::log(mean(block.baseline_ns) / mean(block.candidate_ns));
}

ratio_estimate estimate_ratio(const std::vector<timing_block>& blocks, std::uint64_t seed, const verdict_policy& policy) {
  std::map<int, std::vector<double>> by_launch;
  std::vector<double> all;
  for (const timing_block& block : blocks) {
    if (block.candidate_ns.empty() || block.baseline_ns.empty()) continue;
    all.push_back(log_ratio(block));
    by_launch[block.launch].push_back(all.back());
  }
  if (all.empty()) return {};
  std::vector<const std::vector<double>*> launches;
  for (const auto& [launch, ratios] : by_launch) launches.push_back(&ratios);
  generator random(seed);
  if (launches.size() >= least_launches) {
    std::map<int, std::vector<double>> candidate, baseline;
    for (const timing_block& block : blocks) {
      candidate[block.launch].insert(candidate[block.launch].end(), block.candidate_ns.begin(), block.candidate_ns.end());
      baseline[block.launch].insert(baseline[block.launch].end(), block.baseline_ns.begin(), block.baseline_ns.end());
    }
    std::vector<double> log_ratios;
    for (const auto& [launch, ratios] : by_launch) log_ratios.push_back(std::log(median(baseline[launch]) / median(candidate[launch])));
    return over_launches(log_ratios, all.size(), random, policy);
  }
  std::vector<double> draws, resampled;
  for (int draw = 0; draw < bootstrap_draws; ++draw) {
    resampled.clear();
    for (std::size_t l = 0; l < launches.size(); ++l) {
      const std::vector<double>& from = *launches[random.below(launches.size())];
      for (std::size_t b = 0; b < from.size(); ++b) resampled.push_back(from[random.below(from.size())]);
    }
    draws.push_back(median(resampled));
  }
  return finish(median(all), std::move(draws), all.size(), static_cast<double>(all.size()) - 1, policy);
}

ratio_estimate estimate_unpaired_ratio(const std::vector<double>& candidate_ns, const std::vector<double>& baseline_ns, std::uint64_t seed,
                                       const verdict_policy& policy) {
  if (candidate_ns.empty() || baseline_ns.empty()) return {};
  generator random(seed);
  const auto draw_log = [&](const std::vector<double>& samples) {
    if (samples.size() < static_cast<std::size_t>(policy.least_blocks)) {
      // Sum of four uniforms: a bell of deviation 1/sqrt(3), scaled to the assumed spread.
      const double bell = (random.uniform() + random.uniform() + random.uniform() + random.uniform() - 2) * std::sqrt(3.0);
      return std::log(median(samples)) + bell * assumed_spread;
    }
    std::vector<double> resampled;
    for (std::size_t i = 0; i < samples.size(); ++i) resampled.push_back(samples[random.below(samples.size())]);
    return std::log(median(resampled));
  };
  std::vector<double> draws;
  for (int draw = 0; draw < bootstrap_draws; ++draw) draws.push_back(draw_log(baseline_ns) - draw_log(candidate_ns));
  const double freedom = static_cast<double>(std::max(candidate_ns.size(), static_cast<std::size_t>(policy.least_blocks))) - 1;
  return finish(std::log(median(baseline_ns) / median(candidate_ns)), std::move(draws), candidate_ns.size(), freedom, policy);
}

interval median_interval(const std::vector<std::vector<double>>& blocks, std::uint64_t seed) {
  std::vector<const std::vector<double>*> filled;
  std::vector<double> all;
  for (const std::vector<double>& block : blocks) {
    if (block.empty()) continue;
    filled.push_back(&block);
    all.insert(all.end(), block.begin(), block.end());
  }
  if (all.empty()) return {};
  generator random(seed);
  std::vector<double> draws, resampled;
  for (int draw = 0; draw < bootstrap_draws; ++draw) {
    resampled.clear();
    for (std::size_t i = 0; i < filled.size(); ++i) {
      const std::vector<double>& block = *filled[random.below(filled.size())];
      resampled.insert(resampled.end(), block.begin(), block.end());
    }
    draws.push_back(median(resampled));
  }
  return {percentile(draws, 0.025), percentile(draws, 0.975)};
}

ratio_estimate combine_ratios(const std::vector<weighted_ratio>& ratios) {
  double total = 0, centre = 0;
  std::size_t draws = bootstrap_draws;
  for (const weighted_ratio& r : ratios) {
    if (r.estimate.ratio <= 0) return {};
    total += r.weight;
    centre += r.weight * std::log(r.estimate.ratio);
    draws = std::min(draws, r.estimate.log_draws.size());
  }
  if (total <= 0 || draws == 0) return {};
  centre /= total;
  // The draws of each workload are widened to the interval it was given, so that small samples stay wide in the mean too.
  std::vector<double> combined(draws, 0.0);
  for (const weighted_ratio& r : ratios) {
    const double middle = std::log(r.estimate.ratio);
    const double raw = percentile(r.estimate.log_draws, 0.975) - percentile(r.estimate.log_draws, 0.025);
    const double given = std::log(r.estimate.ci95.high / r.estimate.ci95.low);
    const double factor = raw > 0 ? given / raw : 1;
    for (std::size_t i = 0; i < draws; ++i) combined[i] += r.weight / total * (middle + (r.estimate.log_draws[i] - middle) * factor);
  }
  ratio_estimate estimate;
  estimate.ratio = std::exp(centre);
  estimate.ci95 = {std::exp(percentile(combined, 0.025)), std::exp(percentile(combined, 0.975))};
  estimate.log_draws = std::move(combined);
  const verdict_policy policy;
  const double tail = (1 - policy.strict_level) / 2;
  const interval strict{percentile(estimate.log_draws, tail), percentile(estimate.log_draws, 1 - tail)};
  const interval ci95{std::log(estimate.ci95.low), std::log(estimate.ci95.high)};
  estimate.decision = judge(centre, strict, ci95, static_cast<std::size_t>(policy.least_blocks), policy);
  for (const weighted_ratio& r : ratios) {
    if (r.estimate.decision == verdict::unresolved && ratios.size() == 1) estimate.decision = verdict::unresolved;
  }
  return estimate;
}

double quick_relative_width(const std::vector<timing_block>& blocks) {
  std::vector<double> ratios;
  for (const timing_block& block : blocks) ratios.push_back(log_ratio(block));
  if (ratios.size() < 2) return 1;
  return 2 * normal_95 * deviation(ratios) / std::sqrt(static_cast<double>(ratios.size()));
}

std::unique_ptr<stopping_rule> stop_at_relative_width(const relative_width_parameters& parameters) {
  return std::make_unique<relative_width_rule>(parameters);
}

std::unique_ptr<stopping_rule> stop_after_blocks(int blocks) {
  return std::make_unique<fixed_count_rule>(blocks);
}

std::unique_ptr<stopping_rule> stop_at_steady_entropy(const entropy_parameters& parameters) {
  return std::make_unique<entropy_rule>(parameters);
}

std::unique_ptr<stopping_rule> make_stopping_rule(const stopping_choice& choice, const relative_width_parameters& limits) {
  relative_width_parameters width = limits;
  entropy_parameters entropy;
  switch (choice.which) {
    case stopping_choice::kind::relative_width:
      width.relative_width = choice.enough;
      return stop_at_relative_width(width);
    case stopping_choice::kind::entropy:
      entropy.slope_bits = choice.enough;
      entropy.most_blocks = limits.most_blocks;
      entropy.most_s = limits.most_s;
      return stop_at_steady_entropy(entropy);
    case stopping_choice::kind::fixed_count:
      break;
  }
  return stop_after_blocks(std::max(1, static_cast<int>(choice.enough)));
}

double sample_entropy(const std::vector<double>& samples, double relative_bin) {
  std::map<std::int64_t, int> bins;
  int counted = 0;
  for (const double sample : samples) {
    if (!(sample > 0)) continue;
    ++bins[static_cast<std::int64_t>(std::floor(std::log(sample) / std::log1p(relative_bin)))];
    ++counted;
  }
  double bits = 0;
  for (const auto& [bin, count] : bins) {
    const double share = static_cast<double>(count) / counted;
    bits -= share * std::log2(share);
  }
  return bits;
}

}  // namespace kernsmith::harness
