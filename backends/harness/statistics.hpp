// Statistics of timings: what a set of interleaved measurements says about a ratio, and how sure it is. Values in, values out; the seed is
// passed in.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kernsmith::harness {

/// One ABBA block: per-call times of both legs, measured close together, so that slow drift of the machine cancels in their ratio.
struct timing_block {
  int launch = 0;  ///< which process launch it belongs to
  std::vector<double> candidate_ns;
  std::vector<double> baseline_ns;
};

struct interval {
  double low = 0, high = 0;
};

/// Linear interpolation between order statistics; `quantile` in [0, 1]. 0 for no samples.
[[nodiscard]] double percentile(std::vector<double> samples, double quantile);
[[nodiscard]] double median(std::vector<double> samples);

enum class verdict : std::uint8_t {
  faster,
  slower,
  no_difference,  ///< the interval lies within the equivalence margin around 1
  unresolved,     ///< too few or too noisy measurements to say
};
[[nodiscard]] const char* name_of(verdict v);

/// Choices behind a verdict. The defaults keep wrong "faster" verdicts on A/A pairs below one in a hundred.
struct verdict_policy {
  double strict_level = 0.995;       ///< "faster" and "slower" need an interval of this level that excludes 1
  double least_effect = 0.01;        ///< and a ratio at least this far from 1: less is within what measuring itself does
  double equivalence_margin = 0.05;  ///< the 95 % interval within 1 +- this: no difference
  int least_blocks = 3;
};

/// Baseline time over candidate time.
struct ratio_estimate {
  double ratio = 0;  ///< median over blocks
  interval ci95;
  verdict decision = verdict::unresolved;
  std::vector<double> log_draws;  ///< bootstrap draws of log(ratio), for combining workloads
};

inline constexpr int bootstrap_draws = 600;

/// From so many process launches on, each is one observation (the ratio of the medians of its two legs) and the interval is Student's: what
/// differs between launches is not averaged away by more blocks in each. Fewer launches: bootstrap over launches and over the blocks in
/// each, widened for small numbers of blocks; what another launch would have given is then not in the interval.
inline constexpr std::size_t least_launches = 4;
[[nodiscard]] ratio_estimate estimate_ratio(const std::vector<timing_block>& blocks, std::uint64_t seed, const verdict_policy& policy = {});

/// For a baseline too slow to be interleaved: separate samples. A leg with fewer than `least_blocks` samples is taken to vary by
/// `assumed_spread`.
inline constexpr double assumed_spread = 0.1;
[[nodiscard]] ratio_estimate estimate_unpaired_ratio(const std::vector<double>& candidate_ns, const std::vector<double>& baseline_ns,
                                                     std::uint64_t seed, const verdict_policy& policy = {});

/// 95 % interval of the median of one leg, over blocks.
[[nodiscard]] interval median_interval(const std::vector<std::vector<double>>& blocks, std::uint64_t seed);

struct weighted_ratio {
  ratio_estimate estimate;
  double weight = 1;
};
/// Geometric mean by weight, with the interval that follows from the workloads' draws.
[[nodiscard]] ratio_estimate combine_ratios(const std::vector<weighted_ratio>& ratios);

/// How far a measurement has come.
struct measuring_progress {
  int blocks = 0;
  double spent_s = 0;
  double relative_width = 1;              ///< of the 95 % interval of the ratio
  std::vector<double> entropy_bits = {};  ///< of the candidate's samples, after each block; see sample_entropy
};

/// When to stop taking blocks. Declared before measuring starts.
class stopping_rule {
 public:
  virtual ~stopping_rule() = default;
  [[nodiscard]] virtual bool done(const measuring_progress& progress) const = 0;
  /// For the record: name and parameters.
  [[nodiscard]] virtual std::string describe() const = 0;
};

struct relative_width_parameters {
  double relative_width = 0.02;
  int least_blocks = 3;
  int most_blocks = 100;
  double most_s = 1;
};
[[nodiscard]] std::unique_ptr<stopping_rule> stop_at_relative_width(const relative_width_parameters& parameters);
[[nodiscard]] std::unique_ptr<stopping_rule> stop_after_blocks(int blocks);

/// Stops once further samples tell nothing new about the distribution of times: its entropy has stopped growing.
struct entropy_parameters {
  double slope_bits = 0.01;  ///< per block, of a line through the last `window` entropies
  int window = 8;
  int least_blocks = 8;
  int most_blocks = 100;
  double most_s = 1;
};
[[nodiscard]] std::unique_ptr<stopping_rule> stop_at_steady_entropy(const entropy_parameters& parameters);

/// Shannon entropy in bits of positive samples that fall into bins of `relative_bin` of their size. 0 for none.
[[nodiscard]] double sample_entropy(const std::vector<double>& samples, double relative_bin = 0.01);

/// A rule by name, and its one parameter that says how much is enough; limits on blocks and seconds come with the effort.
struct stopping_choice {
  enum class kind : std::uint8_t { relative_width, entropy, fixed_count };
  kind which = kind::relative_width;
  double enough = 0.006;  ///< relative width; bits per block; blocks
};
[[nodiscard]] std::unique_ptr<stopping_rule> make_stopping_rule(const stopping_choice& choice, const relative_width_parameters& limits);

/// log(baseline / candidate) of one block.
[[nodiscard]] double log_ratio(const timing_block& block);
/// Width of the 95 % interval of the mean log-ratio (normal approximation): cheap enough to ask after each block.
[[nodiscard]] double quick_relative_width(const std::vector<timing_block>& blocks);

}  // namespace kernsmith::harness
