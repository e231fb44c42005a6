// Which candidates of a session are profiled, and when: what is worth knowing, within a bounded share of the session's time. Nothing here
// changes which candidates a search makes; the time is passed in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/error.hpp"
#include "memory/records.hpp"

namespace kernsmith::agents {

/// What a session profiles (session.profile).
enum class profile_mode : std::uint8_t {
  off,
  winner,  ///< the final winner
  best,    ///< that, and within the share of time below: the best so far, and the baseline once
};
/// Fails with bad_request for another word.
[[nodiscard]] result<profile_mode> profile_mode_named(std::string_view name);

/// Share of a session's wall time that profiles beside the winner's may take. The winner's is made in any case.
inline constexpr double profile_time_share = 0.1;
/// A new best is profiled once it has stood for this many evaluations: one that is overtaken at once is not worth it.
inline constexpr std::int64_t profile_settle_evaluations = 4;
/// What the first profile of a session is taken to cost; later ones cost what the longest took.
inline constexpr double first_profile_s = 15;

class profile_schedule {
 public:
  /// `spent_s`: by an earlier run of the session.
  profile_schedule(profile_mode mode, double spent_s) : mode_(mode), spent_s_(spent_s) {}

  [[nodiscard]] profile_mode mode() const { return mode_; }
  [[nodiscard]] double spent_s() const { return spent_s_; }
  /// Another profile would probably stay within the share of `elapsed_s`, the session's wall time so far.
  [[nodiscard]] bool affords(double elapsed_s) const;
  /// The best so far, which `stood` evaluations have not overtaken, is worth a profile now.
  [[nodiscard]] bool improvement_due(std::int64_t stood, double elapsed_s) const;
  void spent(double seconds);

 private:
  profile_mode mode_;
  double spent_s_ = 0, longest_s_ = 0;
};

/// A profiler was tried on what this belongs to: it was profiled, or the profiler failed and `diagnosis.missing` says why.
[[nodiscard]] bool profiled_or_tried(const memory::diagnosis& diagnosis, const std::string& profile_blob);

/// What the profile says, in the place of a roofline alone. What the search went by stays: the roofline's fraction.
[[nodiscard]] memory::diagnosis with_profile(const memory::diagnosis& roofline, const memory::diagnosis& profiled);
/// The roofline alone, with the profiler's failure as something missing.
[[nodiscard]] memory::diagnosis with_failure(memory::diagnosis roofline, const error& why);

}  // namespace kernsmith::agents
