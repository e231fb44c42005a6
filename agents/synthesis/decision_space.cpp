#include "agents/synthesis/decision_space.hpp"

#include <algorithm>
#include <cstdlib>

namespace kernsmith::agents {
namespace {

std::string value_text(const decision& d, std::int64_t value) {
  const auto at = std::find(d.values.begin(), d.values.end(), value);
  if (!d.categorical() || at == d.values.end()) return std::to_string(value);
  return d.labels[static_cast<std::size_t>(at - d.values.begin())];
}

/// Distance that can't overflow, whatever a stored or user-written value is.
std::uint64_t distance(std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  return a > b ? ua - ub : ub - ua;
}

std::int64_t nearest_value(const decision& d, std::int64_t wanted) {
  if (std::find(d.values.begin(), d.values.end(), wanted) != d.values.end()) return wanted;
  if (d.categorical()) return d.values[d.preferred];  // labels have no distance
  return *std::min_element(d.values.begin(), d.values.end(),
                           [&](std::int64_t a, std::int64_t b) { return distance(a, wanted) < distance(b, wanted); });
}

}  // namespace

assignment preferred_assignment(const decision_space& space) {
  assignment chosen;
  for (const decision& d : space.decisions) chosen[d.name] = d.values[d.preferred];
  return chosen;
}

std::string describe(const decision_space& space, const assignment& chosen) {
  std::string text;
  for (const decision& d : space.decisions) {
    const auto found = chosen.find(d.name);
    if (found == chosen.end()) continue;
    if (!text.empty()) text += ' ';
    text += d.name + '=' + value_text(d, found->second);
  }
  return text;
}

assignment fit(const decision_space& space, const assignment& wanted) {
  assignment chosen;
  for (const decision& d : space.decisions) {
    const auto found = wanted.find(d.name);
    chosen[d.name] = found == wanted.end() ? d.values[d.preferred] : nearest_value(d, found->second);
  }
  return chosen;
}

}  // namespace kernsmith::agents
