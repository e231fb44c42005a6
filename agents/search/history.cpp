#include "agents/search/history.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace kernsmith::agents {

namespace {

/// Slower than the best by more than this (natural log, about 8x): how much slower teaches nothing.
constexpr double clip_range = 2.1;

}  // namespace

history::history(std::vector<indexed_space> spaces) : spaces_(std::move(spaces)), children_(1), best_of_(spaces_.size()) {
  for (const indexed_space& space : spaces_) {
    auto& by_dimension = records_.emplace_back();
    for (std::size_t i = 0; i < space.dimensions(); ++i) {
      by_dimension.emplace_back(static_cast<std::size_t>(space.values(i)));
    }
  }
}

std::int64_t history::give_out(candidate_point made) {
  const auto id = static_cast<std::int64_t>(nodes_.size());
  [[maybe_unused]] const bool is_new = tried_.emplace(made.generator, made.where).second;
  assert(is_new);
  children_.emplace_back();
  const std::int64_t parent = made.parents.empty() ? -1 : made.parents.front();
  children_[static_cast<std::size_t>(parent + 1)].push_back(id);
  nodes_.push_back({.made = std::move(made)});
  return id;
}

bool history::apply(std::int64_t id, const move_outcome& outcome) {
  assert(id == applied_);
  node& seen = nodes_[static_cast<std::size_t>(id)];
  seen.applied = true;
  seen.passed = outcome.passed && std::isfinite(outcome.speedup) && outcome.speedup > 0;
  seen.log_speedup = seen.passed ? std::log(outcome.speedup) : 0;
  seen.roofline_fraction = std::isfinite(outcome.roofline_fraction) ? outcome.roofline_fraction : 0;
  if (!outcome.machine_code.empty()) {
    seen.duplicate = !codes_.insert(outcome.machine_code).second;
  }
  ++applied_;
  note_values(seen);
  if (!seen.passed || seen.duplicate) {
    return false;
  }
  worst_ = best_ ? std::min(worst_, seen.log_speedup) : seen.log_speedup;
  auto& own = best_of_[seen.made.generator];
  if (!own || seen.log_speedup > at(*own).log_speedup) {
    own = id;
  }
  if (best_ && seen.log_speedup <= at(*best_).log_speedup) {
    return false;
  }
  best_ = id;
  return true;
}

void history::note_values(const node& seen) {
  auto& by_dimension = records_[seen.made.generator];
  const point& where = seen.made.where;
  if (seen.passed) {
    for (std::size_t i = 0; i < where.size(); ++i) {
      by_dimension[i][static_cast<std::size_t>(where[i])].passes += 1;
    }
    return;
  }
  // A failure is blamed on what differs from its passing parent, or from the analytical guess when it has none, shared among the suspects.
  point before = spaces_[seen.made.generator].preferred();
  if (!seen.made.parents.empty() && at(seen.made.parents.front()).made.generator == seen.made.generator) {
    before = at(seen.made.parents.front()).made.where;
  }
  std::vector<std::size_t> suspects;
  for (std::size_t i = 0; i < where.size(); ++i) {
    if (where[i] != before[i]) {
      suspects.push_back(i);
    }
  }
  for (const std::size_t i : suspects) {
    by_dimension[i][static_cast<std::size_t>(where[i])].failures += 1.0 / static_cast<double>(suspects.size());
  }
}

double history::value(std::int64_t id) const {
  const node& seen = at(id);
  if (!seen.applied || !seen.passed || !best_) {
    return 0;
  }
  const double top = at(*best_).log_speedup;
  const double bottom = std::max(worst_, top - clip_range);
  return top > bottom ? std::clamp((seen.log_speedup - bottom) / (top - bottom), 0.0, 1.0) : 0.5;
}

double history::target(const node& seen) const {
  if (!best_) {
    return 0;
  }
  const double bottom = std::max(worst_, at(*best_).log_speedup - clip_range);
  return seen.passed ? std::max(seen.log_speedup, bottom) : bottom;
}

double history::blame(std::size_t generator, std::size_t dimension, int value) const {
  const value_record& record = records_[generator][dimension][static_cast<std::size_t>(value)];
  return record.failures / (record.failures + record.passes + 0.5);
}

double history::trust(std::size_t generator, const point& where) const {
  double product = 1;
  for (std::size_t i = 0; i < where.size(); ++i) {
    product *= 1 - blame(generator, i, where[i]);
  }
  return product;
}

}  // namespace kernsmith::agents
