#include "backends/cpp/kept_answers.hpp"

#include <algorithm>

#include "backends/harness/statistics.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::size_t least_samples = 4;  // of each kind
constexpr std::size_t most_ahead = 1;
/// Half as long again in the median, and no call on new contents as short as a usual one. Contents matter to honest kernels too (branches,
/// tables); both kinds of contents are shuffles of the same values, though, and what depends on neighbours changes only a little.
constexpr double suspicious_ratio = 1.4, least_ratio = 1.15;

}  // namespace

renewal kept_answers::next(std::uint64_t random) const {
  if (ns_.part.size() > ns_.whole.size() + most_ahead) return renewal::whole;
  if (ns_.whole.size() > ns_.part.size() + most_ahead) return renewal::part_rewritten;
  return (random & 1) != 0 ? renewal::whole : renewal::part_rewritten;
}

void kept_answers::add(renewal kind, double ns, double other_ns) {
  if (kind == renewal::part) return;
  compared_ = compared_ && other_ns > 0;
  (kind == renewal::whole ? ns_.whole : ns_.part).push_back(ns);
  (kind == renewal::whole ? multiple_.whole : multiple_.part).push_back(other_ns > 0 ? ns / other_ns : 0);
}

std::optional<double> kept_answers::series::saving() const {
  if (part.size() < least_samples || whole.size() < least_samples) return std::nullopt;
  const double usual = harness::median(part);
  const double ratio = harness::median(whole) / usual;
  const bool every_call = *std::min_element(whole.begin(), whole.end()) > least_ratio * usual;
  return ratio > suspicious_ratio && every_call ? std::optional(ratio) : std::nullopt;
}

std::optional<double> kept_answers::saving() const {
  const auto alone = ns_.saving();
  if (!alone || !compared_) return alone;
  const auto beside = multiple_.saving();
  return beside ? std::optional(std::min(*alone, *beside)) : std::nullopt;
}

}  // namespace kernsmith::cpp
