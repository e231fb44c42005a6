// A discounted UCB bandit: which arm (memory mode, generator) pays is learned while the search runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace kernsmith::agents {

class bandit {
 public:
  explicit bandit(std::size_t arms) : arms_(arms) {}

  /// The allowed arm with the best bound; arms never tried come first, in order. `allowed` is parallel to the arms and has at least one
  /// true. Choosing counts as trying at once, so that arms whose reward is still outstanding aren't chosen over and over.
  [[nodiscard]] std::size_t choose(const std::vector<bool>& allowed);
  /// `gain` in [0, 1]. Older rewards fade, since what pays early (bold moves) isn't what pays late (small ones).
  void reward(std::size_t arm, double gain);
  /// Mean of the faded rewards, 0 when there are none.
  [[nodiscard]] double mean(std::size_t arm) const;
  /// All of the state, for digests.
  [[nodiscard]] std::string state_text() const;

 private:
  struct arm_record {
    double tries = 0;
    double rewarded = 0;
    double gains = 0;
  };
  std::vector<arm_record> arms_;
};

}  // namespace kernsmith::agents
