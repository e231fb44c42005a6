#include "backends/harness/kept_answers.hpp"

#include <algorithm>

#include "backends/harness/statistics.hpp"

namespace kernsmith::harness {

namespace {

constexpr std::size_t most_ahead = 1;
/// A suspicion costs a trial, no more: as many of each kind, longer by so much in the median, and most of them apart.
constexpr std::size_t suspicious_samples = 4;
constexpr double suspicious_ratio = 1.3, suspicious_apart = 0.85;
/// Half as long again, nearly. Contents matter to honest kernels too (branches, tables); both kinds of contents are shuffles of the same
/// values, though, and what depends on neighbours changes only a little.
constexpr double least_ratio = 1.4;
/// A trial: as many of each kind. By chance their order is so far apart in one of 50,000 trials (rank sum, 4.1 standard deviations),
/// whatever the noise is like, and that of the multiples in one of 500.
constexpr std::size_t trial_samples = 24;
constexpr double least_apart = 0.85, least_apart_in_multiples = 0.75;
/// Half as many will do where not one is out of order: one of 2,000,000.
constexpr std::size_t clear_samples = 12;
/// So many say already that nothing will come of it.
constexpr std::size_t hopeless_samples = 6;
constexpr double hopeless_apart = 0.7;

}  // namespace

std::size_t kept_answers::series::fewest() const {
  return std::min(part.size(), whole.size());
}

double kept_answers::series::ratio() const {
  return median(whole) / median(part);
}

double kept_answers::series::apart() const {
  std::size_t longer = 0;
  for (const double w : whole) longer += static_cast<std::size_t>(std::count_if(part.begin(), part.end(), [&](double p) { return w > p; }));
  return static_cast<double>(longer) / static_cast<double>(whole.size() * part.size());
}

void kept_answers::account::add(renewal kind, double of_kernel, double of_other) {
  compared = compared && of_other > 0;
  (kind == renewal::whole ? ns.whole : ns.part).push_back(of_kernel);
  (kind == renewal::whole ? multiple.whole : multiple.part).push_back(of_other > 0 ? of_kernel / of_other : 0);
}

bool kept_answers::account::suspicious() const {
  return ns.fewest() >= suspicious_samples && ns.ratio() > suspicious_ratio && ns.apart() > suspicious_apart;
}

bool kept_answers::account::hopeless() const {
  return ns.fewest() >= hopeless_samples && (ns.apart() < hopeless_apart || (compared && multiple.apart() < hopeless_apart));
}

bool kept_answers::account::complete() const {
  return ns.fewest() >= trial_samples || (ns.fewest() >= clear_samples && ns.apart() == 1);
}

std::optional<double> kept_answers::account::verdict() const {
  if (ns.ratio() <= least_ratio || ns.apart() < least_apart) return std::nullopt;
  if (!compared) return ns.ratio();
  if (multiple.ratio() <= least_ratio || multiple.apart() < least_apart_in_multiples) return std::nullopt;
  return std::min(ns.ratio(), multiple.ratio());
}

renewal kept_answers::next(std::uint64_t random) const {
  const series& seen = on_trial_ ? trial_.ns : watched_.ns;
  if (seen.part.size() > seen.whole.size() + most_ahead) return renewal::whole;
  if (seen.whole.size() > seen.part.size() + most_ahead) return renewal::part_rewritten;
  return (random & 1) != 0 ? renewal::whole : renewal::part_rewritten;
}

void kept_answers::add(renewal kind, double ns, double other_ns) {
  if (kind == renewal::part || saving_) return;
  if (!on_trial_) {
    watched_.add(kind, ns, other_ns);
    on_trial_ = watched_.suspicious();
    return;
  }
  trial_.add(kind, ns, other_ns);
  const bool complete = trial_.complete();
  if (!complete && !trial_.hopeless()) return;
  if (complete) saving_ = trial_.verdict();
  // Acquitted: what raised the suspicion was chance, and counts no longer.
  watched_ = trial_ = {};
  on_trial_ = false;
}

}  // namespace kernsmith::harness
