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
  if (part_ns_.size() > whole_ns_.size() + most_ahead) return renewal::whole;
  if (whole_ns_.size() > part_ns_.size() + most_ahead) return renewal::part_rewritten;
  return (random & 1) != 0 ? renewal::whole : renewal::part_rewritten;
}

void kept_answers::add(renewal kind, double ns) {
  if (kind == renewal::part_rewritten) part_ns_.push_back(ns);
  if (kind == renewal::whole) whole_ns_.push_back(ns);
}

std::optional<double> kept_answers::saving() const {
  if (part_ns_.size() < least_samples || whole_ns_.size() < least_samples) return std::nullopt;
  const double usual = harness::median(part_ns_);
  const double ratio = harness::median(whole_ns_) / usual;
  const bool every_call = *std::min_element(whole_ns_.begin(), whole_ns_.end()) > least_ratio * usual;
  return ratio > suspicious_ratio && every_call ? std::optional(ratio) : std::nullopt;
}

}  // namespace kernsmith::cpp
