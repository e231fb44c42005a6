#include "agents/search/expander.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace kernsmith::agents {

namespace {

constexpr std::size_t diverse_pool = 24;
constexpr std::size_t shaped_pool = 64;
constexpr std::size_t uniform_pool = 32;
constexpr std::size_t change_pool = 48;
constexpr std::size_t tune_pool = 48;
constexpr std::size_t memory_pool = 32;
constexpr std::size_t cross_pool = 16;
constexpr double random_pick_probability = 0.08;
constexpr int blind_tries = 64;
/// Points that the ordered walk over one space goes over in all: beyond it, a space whose points all collapse counts as used up.
constexpr std::int64_t max_visited_points = std::int64_t{1} << 18U;
/// A model is fitted to at most this many observations: the best half and the latest half.
constexpr std::size_t max_modelled = 160;

double away(const indexed_space& space, const point& a, const point& b) {
  double sum = 0;
  for (const std::size_t i : space.open_dimensions()) {
    if (a[i] != b[i]) {
      sum += space.at(i).categorical() ? 1 : 0.5 + 0.5 * std::abs(a[i] - b[i]) / (space.values(i) - 1);
    }
  }
  return sum;
}

}  // namespace

expander::expander(const history& past, random_source& chance)
    : past_(&past),
      chance_(&chance),
      fitted_at_(past.spaces().size(), 0),
      cursors_(past.spaces().size()),
      visited_(past.spaces().size(), 0),
      used_up_(past.spaces().size(), false) {
  for (const indexed_space& space : past.spaces()) {
    models_.emplace_back(space);
  }
}

std::vector<bool> expander::open_generators() const {
  std::vector<bool> flags(used_up_);
  flags.flip();
  return flags;
}

const surrogate& expander::model(std::size_t generator) {
  surrogate& fitted = models_[generator];
  const std::size_t stamp = past_->nodes().size() + static_cast<std::size_t>(past_->applied_count());
  if (fitted_at_[generator] == stamp) {
    return fitted;
  }
  fitted_at_[generator] = stamp;
  std::vector<const node*> known;
  std::vector<point> expected;
  for (const node& each : past_->nodes()) {
    if (each.made.generator == generator && each.applied) {
      known.push_back(&each);
    } else if (each.made.generator == generator) {
      expected.push_back(each.made.where);
    }
  }
  if (known.size() > max_modelled) {
    const auto latest = known.end() - static_cast<std::ptrdiff_t>(max_modelled / 2);
    std::stable_sort(known.begin(), latest, [&](const node* a, const node* b) { return past_->target(*a) > past_->target(*b); });
    known.erase(known.begin() + static_cast<std::ptrdiff_t>(max_modelled / 2), latest);
  }
  std::vector<point> seen;
  std::vector<double> targets;
  for (const node* each : known) {
    seen.push_back(each->made.where);
    targets.push_back(past_->target(*each));
  }
  fitted.fit(seen, targets);
  if (fitted.ready() && !expected.empty()) {
    // Outstanding moves count as if they came out as predicted, so that the next ones look elsewhere.
    for (const point& where : expected) {
      seen.push_back(where);
      targets.push_back(fitted.predict(where).mean);
    }
    fitted.fit(std::move(seen), std::move(targets), false);
  }
  return fitted;
}

std::vector<point> expander::fresh(std::size_t generator, const std::vector<point>& wanted) const {
  std::vector<point> pool;
  std::set<point> known;
  for (const point& each : wanted) {
    point where = past_->space(generator).normalised(each);
    if (!past_->tried(generator, where) && known.insert(where).second) {
      pool.push_back(std::move(where));
    }
  }
  return pool;
}

std::optional<point> expander::pick(std::size_t generator, const std::vector<point>& pool) {
  if (pool.empty()) {
    return std::nullopt;
  }
  if (chance_->chance(random_pick_probability)) {
    return pool[chance_->below(pool.size())];
  }
  const surrogate& known = model(generator);
  const auto best = past_->best_of(generator);
  if (!known.ready() || !best) {
    std::vector<double> weights;
    for (const point& each : pool) {
      weights.push_back(past_->trust(generator, each));
    }
    return pool[chance_->weighted(weights)];
  }
  const double reached = past_->target(past_->at(*best));
  std::size_t chosen = 0;
  double highest = -1;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    const double gain = known.expected_gain(pool[i], reached) * past_->trust(generator, pool[i]);
    if (gain > highest) {
      highest = gain;
      chosen = i;
    }
  }
  return pool[chosen];
}

std::optional<candidate_point> expander::child(std::int64_t id, std::optional<point> where, move_kind kind, memory_mode memory,
                                               const std::string& why) const {
  if (!where) {
    return std::nullopt;
  }
  const candidate_point& parent = past_->at(id).made;
  std::string text = fmt::format("{}: {}", why, past_->space(parent.generator).describe_change(parent.where, *where));
  return candidate_point{parent.generator, std::move(*where), kind, memory, {id}, std::move(text)};
}

std::optional<candidate_point> expander::diverse_draft(std::size_t generator) {
  const indexed_space& space = past_->space(generator);
  std::vector<point> wanted;
  for (std::size_t i = 0; i < diverse_pool; ++i) {
    wanted.push_back(shaped_draft(space, {}, *chance_));
  }
  const std::vector<point> pool = fresh(generator, wanted);
  const point* chosen = nullptr;
  double farthest = -1;
  for (const point& each : pool) {
    double nearest = static_cast<double>(space.dimensions());
    for (const node& other : past_->nodes()) {
      if (other.made.generator == generator) {
        nearest = std::min(nearest, away(space, each, other.made.where));
      }
    }
    if (nearest > farthest) {
      farthest = nearest;
      chosen = &each;
    }
  }
  if (chosen == nullptr) {
    return std::nullopt;
  }
  return candidate_point{generator, *chosen, move_kind::draft, memory_mode::clean_slate, {}, "opening draft, away from those before"};
}

std::optional<candidate_point> expander::draft(std::size_t generator) {
  const indexed_space& space = past_->space(generator);
  const auto effects = main_effects(*past_, generator);
  std::vector<point> wanted;
  for (std::size_t i = 0; i < shaped_pool; ++i) {
    wanted.push_back(shaped_draft(space, effects, *chance_));
  }
  for (std::size_t i = 0; i < uniform_pool; ++i) {
    wanted.push_back(uniform_draft(space, *chance_));
  }
  auto where = pick(generator, fresh(generator, wanted));
  if (!where) {
    return std::nullopt;
  }
  return candidate_point{
      generator, std::move(*where), move_kind::draft, memory_mode::clean_slate, {}, "fresh draft from values that did well"};
}

std::vector<point> expander::with_memory(std::int64_t id, memory_mode memory) {
  const candidate_point& parent = past_->at(id).made;
  const indexed_space& space = past_->space(parent.generator);
  std::vector<point> wanted;
  if (memory == memory_mode::parent) {
    for (std::size_t i = 0; i < change_pool; ++i) {
      wanted.push_back(mutate_some(space, parent.where, *chance_));
    }
    return wanted;
  }
  const std::vector<lesson> siblings = sibling_lessons(*past_, id);
  if (siblings.empty()) {
    return wanted;
  }
  const std::vector<lesson> lineage = memory == memory_mode::both ? lineage_lessons(*past_, id) : std::vector<lesson>{};
  for (std::size_t i = 0; i < memory_pool; ++i) {
    point to = keep_what_paid(parent.where, siblings, *chance_);
    if (memory == memory_mode::both) {
      to = go_further(space, to, lineage, *chance_);
    }
    if (to == parent.where || chance_->chance(0.5)) {
      to = mutate(space, to, *chance_);
    }
    if (!repeats_a_mistake(parent.where, to, siblings)) {
      wanted.push_back(std::move(to));
    }
  }
  return wanted;
}

std::optional<candidate_point> expander::change(std::int64_t id, memory_mode memory) {
  const std::size_t generator = past_->at(id).made.generator;
  const auto why = memory == memory_mode::parent     ? fmt::format("change of {}", id)
                   : memory == memory_mode::siblings ? fmt::format("what paid among the children of {}", id)
                                                     : fmt::format("what paid on the way to {} and among its children", id);
  return child(id, pick(generator, fresh(generator, with_memory(id, memory))), move_kind::mutate, memory, why);
}

std::optional<candidate_point> expander::cross(std::int64_t first, std::int64_t second) {
  const candidate_point& a = past_->at(first).made;
  const candidate_point& b = past_->at(second).made;
  if (a.generator != b.generator) {
    return std::nullopt;
  }
  const indexed_space& space = past_->space(a.generator);
  std::vector<point> wanted;
  for (std::size_t i = 0; i < cross_pool; ++i) {
    wanted.push_back(crossover(space, a.where, b.where, *chance_));
  }
  auto made = child(first, pick(a.generator, fresh(a.generator, wanted)), move_kind::crossover, memory_mode::siblings,
                    fmt::format("{} with parts of {}", first, second));
  if (made) {
    made->parents.push_back(second);
  }
  return made;
}

std::optional<candidate_point> expander::tune(std::int64_t id) {
  const candidate_point& parent = past_->at(id).made;
  const indexed_space& space = past_->space(parent.generator);
  std::vector<point> wanted = single_changes(space, parent.where);
  if (model(parent.generator).ready()) {
    for (std::size_t i = 0; i < tune_pool; ++i) {
      wanted.push_back(mutate_some(space, parent.where, *chance_));
    }
    return child(id, pick(parent.generator, fresh(parent.generator, wanted)), move_kind::tune, memory_mode::parent,
                 fmt::format("tuning {}", id));
  }
  return child(id, pick(parent.generator, fresh(parent.generator, wanted)), move_kind::tune, memory_mode::parent,
               fmt::format("tuning {}", id));
}

std::optional<point> expander::next_in_order(std::size_t generator) {
  const indexed_space& space = past_->space(generator);
  auto& cursor = cursors_[generator];
  auto& visited = visited_[generator];
  if (!cursor) {
    cursor = space.preferred();
    for (const std::size_t i : space.open_dimensions()) {
      (*cursor)[i] = 0;
    }
  }
  while (visited < max_visited_points) {
    point where = space.normalised(*cursor);
    if (!past_->tried(generator, where)) {
      return where;
    }
    ++visited;
    bool carried = true;
    for (const std::size_t i : space.open_dimensions()) {
      if (++(*cursor)[i] < space.values(i)) {
        carried = false;
        break;
      }
      (*cursor)[i] = 0;
    }
    if (carried) {
      visited = max_visited_points;
    }
  }
  return std::nullopt;
}

std::optional<candidate_point> expander::anything(std::size_t generator) {
  const indexed_space& space = past_->space(generator);
  std::optional<point> found;
  for (int i = 0; i < blind_tries && !found && !space.open_dimensions().empty(); ++i) {
    point where = space.normalised(uniform_draft(space, *chance_));
    if (!past_->tried(generator, where)) {
      found = std::move(where);
    }
  }
  if (!found) {
    found = next_in_order(generator);
  }
  if (!found) {
    used_up_[generator] = true;
    return std::nullopt;
  }
  return candidate_point{generator, std::move(*found), move_kind::draft, memory_mode::clean_slate, {}, "random draft"};
}

std::string expander::state_text() const {
  std::string text;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    text += fmt::format("{} {} {} [{}];", models_[i].state_text(), visited_[i], used_up_[i] ? 1 : 0,
                        cursors_[i] ? fmt::format("{}", fmt::join(*cursors_[i], ",")) : "");
  }
  return text;
}

}  // namespace kernsmith::agents
