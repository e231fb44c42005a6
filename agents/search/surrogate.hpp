// A model of log speed-up over one decision space, learned from the candidates measured so far: measure few, model many.
//
// It is a Gaussian process whose kernel mixes main effects (each decision on its own) with nearness of whole assignments; how much each
// decision matters is chosen by marginal likelihood. With a few dozen observations a fit takes a few milliseconds at most.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agents/search/indexed_space.hpp"

namespace kernsmith::agents {

class surrogate {
 public:
  explicit surrogate(const indexed_space& space);

  struct prediction {
    double mean = 0;       ///< in the unit of the targets
    double deviation = 0;  ///< standard deviation of the mean, without measurement noise
  };

  /// Replaces the observations. What was learned about decisions is kept, and learned anew when enough was added since the last time.
  /// `may_learn` false: keeps it in any case (for observations that are themselves predictions).
  void fit(std::vector<point> seen, std::vector<double> targets, bool may_learn = true);
  /// False until there is enough to predict from.
  [[nodiscard]] bool ready() const { return !weights_.empty(); }
  [[nodiscard]] prediction predict(const point& where) const;
  /// Expected improvement over `best`, in standard deviations of the targets. 0 when not ready.
  [[nodiscard]] double expected_gain(const point& where, double best) const;
  /// The learned state, for digests.
  [[nodiscard]] std::string state_text() const;

 private:
  struct shape {
    std::vector<int> scale;  ///< per dimension: position in the grid of inverse lengths
    int mix = 0;             ///< position in the grid of main-effect shares
    int noise = 0;           ///< position in the grid of noise variances
  };

  /// What one shape makes of each decision's distances, so that a kernel value costs look-ups and one exponential.
  struct distance_table {
    std::vector<std::vector<double>> squared;  ///< by position in the open dimensions and distance in positions
    std::vector<std::vector<double>> alone;
    double share = 0;
  };

  [[nodiscard]] distance_table tabulate(const shape& with) const;
  [[nodiscard]] double kernel(const distance_table& table, const point& a, const point& b) const;
  /// Lower Cholesky factor of the kernel matrix, row by row; empty when it isn't positive definite.
  [[nodiscard]] std::vector<double> factor(const shape& with) const;
  [[nodiscard]] double log_evidence(const shape& with) const;
  void learn_shape();

  const indexed_space* space_;
  std::vector<point> seen_;
  std::vector<double> standard_;  ///< targets, standardised
  double offset_ = 0;
  double unit_ = 1;
  shape shape_;
  distance_table table_;  ///< of shape_, as of the last fit
  std::size_t learned_at_ = 0;
  std::vector<double> factor_;
  std::vector<double> weights_;
  double variance_ = 1;
};

}  // namespace kernsmith::agents
