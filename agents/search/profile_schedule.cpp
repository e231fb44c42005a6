#include "agents/search/profile_schedule.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "config/text.hpp"

namespace kernsmith::agents {

result<profile_mode> profile_mode_named(std::string_view name) {
  static const std::vector<std::string> names{"off", "winner", "best"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    return fail(fault::bad_request, fmt::format("'{}' is nothing that can be profiled{}; choose off, winner or best", name,
                                                did_you_mean(std::string(name), names)));
  return static_cast<profile_mode>(found - names.begin());
}

bool profile_schedule::affords(double elapsed_s) const {
  const double next_s = longest_s_ > 0 ? longest_s_ : first_profile_s;
  return spent_s_ + next_s <= profile_time_share * elapsed_s;
}

bool profile_schedule::improvement_due(std::int64_t stood, double elapsed_s) const {
  return mode_ == profile_mode::best && stood >= profile_settle_evaluations && affords(elapsed_s);
}

void profile_schedule::spent(double seconds) {
  spent_s_ += seconds;
  longest_s_ = std::max(longest_s_, seconds);
}

bool profiled_or_tried(const memory::diagnosis& diagnosis, const std::string& profile_blob) {
  return !profile_blob.empty() || std::any_of(diagnosis.missing.begin(), diagnosis.missing.end(),
                                              [](const memory::missing_tool& m) { return m.tool == memory::profiler_itself; });
}

memory::diagnosis with_profile(const memory::diagnosis& roofline, const memory::diagnosis& profiled) {
  memory::diagnosis d = profiled;
  d.roofline_fraction = roofline.roofline_fraction;
  d.signals.insert(roofline.signals.begin(), roofline.signals.end());
  return d;
}

memory::diagnosis with_failure(memory::diagnosis roofline, const error& why) {
  roofline.missing.push_back({memory::profiler_itself, why.message, ""});
  return roofline;
}

}  // namespace kernsmith::agents
