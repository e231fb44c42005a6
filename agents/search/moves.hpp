// The operators of the search over one decision space: points in, points out. None of them looks at the clock, at other searches, or at
// more chance than it is handed. Results are as wanted, not yet normalised.
#pragma once

#include <cstdint>
#include <vector>

#include "agents/search/history.hpp"
#include "agents/search/indexed_space.hpp"
#include "agents/search/random_source.hpp"

namespace kernsmith::agents {

/// Changes one decision, picked by weight: an ordered one mostly moves to a neighbouring value, else it jumps.
[[nodiscard]] point mutate(const indexed_space& space, const point& from, random_source& chance);
/// One change, and with falling probability two, three ...
[[nodiscard]] point mutate_some(const indexed_space& space, const point& from, random_source& chance);
/// Every assignment that differs in one decision, nearest values first.
[[nodiscard]] std::vector<point> single_changes(const indexed_space& space, const point& from);
/// A merge of both: whole groups (decisions of one loop nest) from one or the other, or decision by decision.
[[nodiscard]] point crossover(const indexed_space& space, const point& a, const point& b, random_source& chance);
/// Every value equally likely.
[[nodiscard]] point uniform_draft(const indexed_space& space, random_source& chance);
/// A fresh draft: values near the analytical guess are likelier, more so those whose observed main effect is good; `effects` by
/// dimension and value, in log speed-up, or empty.
[[nodiscard]] point shaped_draft(const indexed_space& space, const std::vector<std::vector<double>>& effects, random_source& chance);
/// Mean log speed-up of each value against the mean of all, shrunk towards 0 where little was seen. Empty when nothing was.
[[nodiscard]] std::vector<std::vector<double>> main_effects(const history& past, std::size_t generator);

/// One decision's change that a relative made, and what it brought.
struct lesson {
  std::size_t dimension = 0;
  int from = 0;
  int to = 0;
  double gain = 0;  ///< log speed-up against the relative's parent, shared among its changes; negative for failures
  bool failed = false;
};

/// What the children of `parent` teach to the next child: their changes against it.
[[nodiscard]] std::vector<lesson> sibling_lessons(const history& past, std::int64_t parent);
/// What the steps from the first ancestor to `id` brought, oldest first.
[[nodiscard]] std::vector<lesson> lineage_lessons(const history& past, std::int64_t id);
/// `from` with a random, non-empty part of the changes that paid; unchanged when none did.
[[nodiscard]] point keep_what_paid(const point& from, const std::vector<lesson>& lessons, random_source& chance);
/// One step further along ordered changes that paid; unchanged when there is none.
[[nodiscard]] point go_further(const indexed_space& space, const point& from, const std::vector<lesson>& lessons, random_source& chance);
/// Does `to` take up a change against `from` that did not pay?
[[nodiscard]] bool repeats_a_mistake(const point& from, const point& to, const std::vector<lesson>& lessons);

}  // namespace kernsmith::agents
