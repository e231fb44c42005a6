// The stopping rules: fixed before the search starts, decided on applied outcomes alone.
#pragma once

#include <cstdint>
#include <string>

#include "agents/search/search.hpp"

namespace kernsmith::agents {

/// This near to the floor set by the device's measured peaks, the rest is noise and launch cost.
inline constexpr double roofline_reached_fraction = 0.95;
/// The floor comes from peaks measured once: on a machine that was busy then they are low, so one lucky candidate must not end a search
/// that has hardly begun.
inline constexpr std::int64_t min_evaluations_before_roofline = 16;

class stopping_rules {
 public:
  explicit stopping_rules(const search_settings& settings);

  /// Tells of the next applied outcome. `passed`: it is a verified candidate; `new_best`: the fastest so far.
  void applied(const move_outcome& outcome, bool passed, bool new_best);
  /// No further move can be made.
  void exhausted();
  /// May one more move be given out while `outstanding` others are? Each of them may yet cost an evaluation.
  [[nodiscard]] bool affords(std::int64_t outstanding) const { return spent_ + outstanding < budget_; }
  /// Empty while none of the rules holds. The first one that did stays the reason.
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] std::string state_text() const;

 private:
  void stop(const char* reason);

  double stop_at_;
  std::int64_t stall_;
  std::int64_t budget_;
  std::int64_t spent_ = 0;
  std::int64_t since_best_ = 0;
  bool roofline_reached_ = false;
  std::string reason_;
};

/// Moves in all: those that cost nothing (known machine code) are bounded too.
[[nodiscard]] constexpr std::int64_t max_moves(std::int64_t budget) {
  constexpr std::int64_t per_evaluation = 4;
  constexpr std::int64_t spare = 64;
  return per_evaluation * budget + spare;
}

}  // namespace kernsmith::agents
