#include "agents/search/moves.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace kernsmith::agents {

namespace {

constexpr double step_probability = 0.7;
constexpr double another_change_probability = 0.3;
constexpr double crossover_by_group_probability = 0.5;
constexpr double keep_probability = 0.7;
/// How fast a value's likelihood in a draft falls with its distance from the analytical guess.
constexpr double draft_distance_decay = 0.35;
constexpr double draft_unordered_distance = 1.5;
/// Log speed-up that makes a value e times likelier in a draft.
constexpr double draft_effect_unit = 0.15;
constexpr double draft_effect_limit = 3;
/// Observations' worth of "no effect" that a value's mean starts with.
constexpr double effect_shrinkage = 2;
/// A sibling this much better (log) paid; below it, noise.
constexpr double paid_threshold = 0.005;

int other_value(const indexed_space& space, std::size_t dimension, int now, random_source& chance) {
  const int count = space.values(dimension);
  if (!space.at(dimension).categorical() && chance.chance(step_probability)) {
    const bool up = chance.chance(0.5);
    const int stepped = now + (up ? 1 : -1);
    return stepped < 0 ? now + 1 : stepped >= count ? now - 1 : stepped;
  }
  const int jumped = static_cast<int>(chance.below(static_cast<std::size_t>(count - 1)));
  return jumped < now ? jumped : jumped + 1;
}

std::size_t pick_dimension(const indexed_space& space, random_source& chance) {
  std::vector<double> weights;
  for (const std::size_t i : space.open_dimensions()) {
    weights.push_back(space.at(i).weight);
  }
  return space.open_dimensions()[chance.weighted(weights)];
}

/// The changes of `id` against `parent`, with its gain shared among them.
void add_lessons(const history& past, std::int64_t parent, std::int64_t id, std::vector<lesson>& lessons) {
  const node& before = past.at(parent);
  const node& after = past.at(id);
  if (!after.applied || before.made.generator != after.made.generator || (after.passed && !before.passed)) {
    return;
  }
  std::vector<std::size_t> changed;
  for (std::size_t i = 0; i < after.made.where.size(); ++i) {
    if (after.made.where[i] != before.made.where[i]) {
      changed.push_back(i);
    }
  }
  const double total = after.passed ? after.log_speedup - before.log_speedup : -1;
  for (const std::size_t i : changed) {
    lessons.push_back({i, before.made.where[i], after.made.where[i], total / static_cast<double>(changed.size()), !after.passed});
  }
}

}  // namespace

point mutate(const indexed_space& space, const point& from, random_source& chance) {
  point to = from;
  if (!space.open_dimensions().empty()) {
    const std::size_t dimension = pick_dimension(space, chance);
    to[dimension] = other_value(space, dimension, from[dimension], chance);
  }
  return to;
}

point mutate_some(const indexed_space& space, const point& from, random_source& chance) {
  point to = mutate(space, from, chance);
  while (chance.chance(another_change_probability)) {
    to = mutate(space, to, chance);
  }
  return to;
}

std::vector<point> single_changes(const indexed_space& space, const point& from) {
  struct change {
    int distance;
    std::size_t dimension;
    int value;
  };
  std::vector<change> changes;
  for (const std::size_t i : space.open_dimensions()) {
    for (int value = 0; value < space.values(i); ++value) {
      if (value != from[i]) {
        changes.push_back({space.at(i).categorical() ? 1 : std::abs(value - from[i]), i, value});
      }
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const change& a, const change& b) { return a.distance < b.distance; });
  std::vector<point> points;
  for (const change& each : changes) {
    points.push_back(from);
    points.back()[each.dimension] = each.value;
  }
  return points;
}

point crossover(const indexed_space& space, const point& a, const point& b, random_source& chance) {
  const bool by_group = space.group_count() > 1 && chance.chance(crossover_by_group_probability);
  std::vector<bool> second(by_group ? space.group_count() : space.dimensions());
  for (std::size_t i = 0; i < second.size(); ++i) {
    second[i] = chance.chance(0.5);
  }
  point merged = a;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    if (second[by_group ? space.group(i) : i]) {
      merged[i] = b[i];
    }
  }
  return merged;
}

point uniform_draft(const indexed_space& space, random_source& chance) {
  point where = space.preferred();
  for (const std::size_t i : space.open_dimensions()) {
    where[i] = static_cast<int>(chance.below(static_cast<std::size_t>(space.values(i))));
  }
  return where;
}

point shaped_draft(const indexed_space& space, const std::vector<std::vector<double>>& effects, random_source& chance) {
  point where = space.preferred();
  for (const std::size_t i : space.open_dimensions()) {
    std::vector<double> weights;
    for (int value = 0; value < space.values(i); ++value) {
      const bool ordered = !space.at(i).categorical();
      const double away = value == where[i] ? 0 : ordered ? std::abs(value - where[i]) : draft_unordered_distance;
      const double effect = effects.empty() ? 0 : effects[i][static_cast<std::size_t>(value)] / draft_effect_unit;
      weights.push_back(std::exp(std::clamp(effect, -draft_effect_limit, draft_effect_limit) - draft_distance_decay * away));
    }
    where[i] = static_cast<int>(chance.weighted(weights));
  }
  return where;
}

std::vector<std::vector<double>> main_effects(const history& past, std::size_t generator) {
  const indexed_space& space = past.space(generator);
  std::vector<std::vector<double>> sums(space.dimensions());
  std::vector<std::vector<double>> counts(space.dimensions());
  for (std::size_t i = 0; i < space.dimensions(); ++i) {
    sums[i].assign(static_cast<std::size_t>(space.values(i)), 0.0);
    counts[i] = sums[i];
  }
  double total = 0;
  double seen = 0;
  for (const node& each : past.nodes()) {
    if (each.applied && each.made.generator == generator) {
      total += past.target(each);
      seen += 1;
    }
  }
  if (seen <= 0) {
    return {};
  }
  for (const node& each : past.nodes()) {
    if (!each.applied || each.made.generator != generator) {
      continue;
    }
    for (std::size_t i = 0; i < space.dimensions(); ++i) {
      const auto value = static_cast<std::size_t>(each.made.where[i]);
      sums[i][value] += past.target(each) - total / seen;
      counts[i][value] += 1;
    }
  }
  for (std::size_t i = 0; i < space.dimensions(); ++i) {
    for (std::size_t value = 0; value < sums[i].size(); ++value) {
      sums[i][value] /= counts[i][value] + effect_shrinkage;
    }
  }
  return sums;
}

std::vector<lesson> sibling_lessons(const history& past, std::int64_t parent) {
  std::vector<lesson> lessons;
  for (const std::int64_t child : past.children(parent)) {
    add_lessons(past, parent, child, lessons);
  }
  return lessons;
}

std::vector<lesson> lineage_lessons(const history& past, std::int64_t id) {
  std::vector<lesson> lessons;
  std::vector<std::int64_t> line{id};
  while (!past.at(line.back()).made.parents.empty()) {
    line.push_back(past.at(line.back()).made.parents.front());
  }
  for (std::size_t i = line.size(); i-- > 1;) {
    add_lessons(past, line[i], line[i - 1], lessons);
  }
  return lessons;
}

point keep_what_paid(const point& from, const std::vector<lesson>& lessons, random_source& chance) {
  std::vector<const lesson*> paid;
  for (const lesson& each : lessons) {
    if (each.gain > paid_threshold && from[each.dimension] == each.from) {
      paid.push_back(&each);
    }
  }
  point to = from;
  if (paid.empty()) {
    return to;
  }
  // Best last, so that of two good values for one decision the better one stands.
  std::stable_sort(paid.begin(), paid.end(), [](const lesson* a, const lesson* b) { return a->gain < b->gain; });
  const std::size_t kept_for_sure = chance.below(paid.size());
  for (std::size_t i = 0; i < paid.size(); ++i) {
    if (i == kept_for_sure || chance.chance(keep_probability)) {
      to[paid[i]->dimension] = paid[i]->to;
    }
  }
  return to;
}

point go_further(const indexed_space& space, const point& from, const std::vector<lesson>& lessons, random_source& chance) {
  std::vector<point> further;
  for (const lesson& each : lessons) {
    if (each.gain <= paid_threshold || space.at(each.dimension).categorical()) {
      continue;
    }
    const int next = from[each.dimension] + (each.to > each.from ? 1 : -1);
    const bool still_ahead = each.to > each.from ? from[each.dimension] >= each.to : from[each.dimension] <= each.to;
    if (still_ahead && next >= 0 && next < space.values(each.dimension)) {
      further.push_back(from);
      further.back()[each.dimension] = next;
    }
  }
  return further.empty() ? from : further[chance.below(further.size())];
}

bool repeats_a_mistake(const point& from, const point& to, const std::vector<lesson>& lessons) {
  return std::any_of(lessons.begin(), lessons.end(), [&](const lesson& each) {
    return (each.failed || each.gain < -paid_threshold) && from[each.dimension] == each.from && to[each.dimension] == each.to;
  });
}

}  // namespace kernsmith::agents
