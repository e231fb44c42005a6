#include "agents/search/stopping.hpp"

#include <fmt/format.h>

namespace kernsmith::agents {

stopping_rules::stopping_rules(const search_settings& settings)
    : stop_at_(settings.stop_at), stall_(settings.stall), budget_(settings.budget) {
  if (budget_ <= 0) {
    stop("budget");
  }
}

void stopping_rules::stop(const char* reason) {
  if (reason_.empty()) {
    reason_ = reason;
  }
}

void stopping_rules::applied(const move_outcome& outcome, bool passed, bool new_best) {
  if (outcome.measured) {
    ++spent_;
    ++since_best_;
  }
  if (new_best) {
    since_best_ = 0;
  }
  if (passed && stop_at_ > 0 && outcome.speedup >= stop_at_) {
    stop("target");
  }
  roofline_reached_ = roofline_reached_ || (passed && outcome.roofline_fraction >= roofline_reached_fraction);
  if (roofline_reached_ && spent_ >= min_evaluations_before_roofline) {
    stop("roofline");
  }
  if (spent_ >= budget_) {
    stop("budget");
  }
  if (stall_ > 0 && since_best_ >= stall_) {
    stop("stall");
  }
}

void stopping_rules::exhausted() {
  stop("exhausted");
}

std::string stopping_rules::state_text() const {
  return fmt::format("{} {} {} {}", spent_, since_best_, roofline_reached_, reason_);
}

}  // namespace kernsmith::agents
