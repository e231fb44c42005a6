// Synthetic decision spaces with known optima for the search tests: values in, speed-ups out, nothing built and nothing timed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "agents/search/random_source.hpp"
#include "agents/search/search.hpp"

namespace kernsmith::agents::testing {

/// A generator without sources. `collapse` may reset decisions that others make meaningless.
class fake_generator final : public generator {
 public:
  explicit fake_generator(decision_space space, std::function<void(assignment&)> collapse = {})
      : space_(std::move(space)), collapse_(std::move(collapse)) {}

  const decision_space& space() const override { return space_; }
  assignment normalise(const assignment& wanted) const override {
    assignment chosen;
    for (const decision& each : space_.decisions) {
      chosen[each.name] = each.values[each.preferred];
      if (const auto found = wanted.find(each.name); found != wanted.end()) {
        const auto legal = std::find(each.values.begin(), each.values.end(), found->second);
        chosen[each.name] = legal != each.values.end() ? *legal : each.values[each.preferred];
      }
    }
    if (collapse_) {
      collapse_(chosen);
    }
    return chosen;
  }
  result<proposal> generate(const assignment& wanted) const override { return proposal{"", normalise(wanted), "", {}}; }

 private:
  decision_space space_;
  std::function<void(assignment&)> collapse_;
};

/// A kernel-like landscape over ten decisions (331,776 assignments): log speed-up is a sum of bowls over ordered decisions, offsets of
/// choices that aren't numbers, and products of pairs. Where the bowls lie and how much each decision matters comes from the seed.
struct landscape {
  enum class flavour { separable, interacting, failing, collapsing };

  landscape(flavour of, std::uint64_t seed);

  double log_speedup(const assignment& chosen) const;
  bool fails(const assignment& chosen) const;
  /// By complete enumeration, once.
  double optimum() const;
  move_outcome outcome(const assignment& chosen, double noise = 0) const;

  flavour kind;
  std::uint64_t seed;
  decision_space space;
  std::vector<double> centre;               ///< per decision, in positions
  std::vector<double> importance;           ///< per decision, in log speed-up from end to end
  std::vector<std::vector<double>> offset;  ///< per categorical decision and value
  struct pair {
    std::size_t a;
    std::size_t b;
    double strength;
  };
  std::vector<pair> pairs;
  std::vector<std::pair<std::size_t, std::size_t>> fatal;  ///< two decisions that are both high: the candidate fails

 private:
  std::vector<std::size_t> positions(const assignment& chosen) const;
  double log_speedup_at(const std::vector<std::size_t>& at) const;
  bool fails_at(const std::vector<std::size_t>& at) const;

  mutable std::optional<double> optimum_;
};

inline decision ordered(std::string name, int count, std::size_t preferred) {
  decision made;
  made.name = std::move(name);
  for (int i = 0; i < count; ++i) {
    made.values.push_back(std::int64_t{1} << i);
  }
  made.preferred = preferred;
  return made;
}

inline decision named(std::string name, int count) {
  decision made = ordered(std::move(name), count, 0);
  for (int i = 0; i < count; ++i) {
    made.values[static_cast<std::size_t>(i)] = i;
    made.labels.push_back(fmt::format("choice{}", i));
  }
  return made;
}

/// What a policy reached, as a fraction of the best possible speed-up, by the true (noiseless) speed of what it calls best.
struct run_result {
  double fraction = 0;
  std::int64_t evaluations = 0;
  std::vector<move> moves;
  std::string stopped_by;
  std::string digest;
};

run_result run(const landscape& on, const search_settings& settings, double noise = 0);

}  // namespace kernsmith::agents::testing
