#include "agents/search/bandit.hpp"

#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace kernsmith::agents {

namespace {

constexpr double fade = 0.95;
constexpr double exploration = 0.25;

}  // namespace

std::size_t bandit::choose(const std::vector<bool>& allowed) {
  assert(allowed.size() == arms_.size());
  double total = 1;
  for (const arm_record& arm : arms_) {
    total += arm.tries;
  }
  std::size_t best = arms_.size();
  double best_bound = 0;
  for (std::size_t i = 0; i < arms_.size(); ++i) {
    if (!allowed[i]) {
      continue;
    }
    constexpr double unseen_bound = 1e9;
    const double bound = arms_[i].tries <= 0 ? unseen_bound : mean(i) + exploration * std::sqrt(2 * std::log(total) / arms_[i].tries);
    if (best == arms_.size() || bound > best_bound) {
      best = i;
      best_bound = bound;
    }
  }
  assert(best < arms_.size());
  arms_[best].tries += 1;
  return best;
}

void bandit::reward(std::size_t arm, double gain) {
  for (arm_record& each : arms_) {
    each.tries *= fade;
    each.rewarded *= fade;
    each.gains *= fade;
  }
  arms_[arm].rewarded += 1;
  arms_[arm].gains += gain;
}

double bandit::mean(std::size_t arm) const {
  return arms_[arm].rewarded > 0 ? arms_[arm].gains / arms_[arm].rewarded : 0;
}

std::string bandit::state_text() const {
  std::string text;
  for (const arm_record& arm : arms_) {
    text += fmt::format("{:x},{:x},{:x};", std::bit_cast<std::uint64_t>(arm.tries), std::bit_cast<std::uint64_t>(arm.rewarded),
                        std::bit_cast<std::uint64_t>(arm.gains));
  }
  return text;
}

}  // namespace kernsmith::agents
