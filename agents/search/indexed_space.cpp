#include "agents/search/indexed_space.hpp"

#include <map>

#include <fmt/format.h>

namespace kernsmith::agents {

namespace {

constexpr std::size_t max_described_changes = 4;

/// Values that the space doesn't list (a generator may clamp) count as the nearest one that it does.
int nearest_position(const decision& choice, std::int64_t value) {
  const auto distance = [value](std::int64_t other) {
    const auto a = static_cast<std::uint64_t>(value);
    const auto b = static_cast<std::uint64_t>(other);
    return value > other ? a - b : b - a;
  };
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < choice.values.size(); ++i) {
    if (distance(choice.values[i]) < distance(choice.values[nearest])) {
      nearest = i;
    }
  }
  return static_cast<int>(nearest);
}

std::string value_text(const decision& choice, int position) {
  const auto index = static_cast<std::size_t>(position);
  return index < choice.labels.size() ? choice.labels[index] : fmt::format("{}", choice.values[index]);
}

}  // namespace

indexed_space::indexed_space(const generator& source) : source_(&source), space_(&source.space()) {
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < space_->decisions.size(); ++i) {
    const std::string& full = space_->decisions[i].name;
    const auto dot = full.rfind('.');
    const std::string prefix = dot == std::string::npos ? std::string{} : full.substr(0, dot);
    groups_.push_back(known.emplace(prefix, known.size()).first->second);
    if (space_->decisions[i].values.size() > 1) {
      open_.push_back(i);
    }
  }
  group_count_ = known.size();
}

point indexed_space::preferred() const {
  point where;
  for (const decision& choice : space_->decisions) {
    where.push_back(static_cast<int>(choice.preferred < choice.values.size() ? choice.preferred : 0));
  }
  return where;
}

assignment indexed_space::to_assignment(const point& where) const {
  assignment chosen;
  for (std::size_t i = 0; i < where.size(); ++i) {
    chosen[at(i).name] = at(i).values[static_cast<std::size_t>(where[i])];
  }
  return chosen;
}

point indexed_space::to_point(const assignment& chosen) const {
  point where = preferred();
  for (std::size_t i = 0; i < where.size(); ++i) {
    if (const auto found = chosen.find(at(i).name); found != chosen.end()) {
      where[i] = nearest_position(at(i), found->second);
    }
  }
  return where;
}

std::string indexed_space::describe_change(const point& from, const point& to) const {
  std::string text;
  std::size_t changes = 0;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (from[i] == to[i]) {
      continue;
    }
    if (++changes <= max_described_changes) {
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", at(i).name, value_text(at(i), from[i]), value_text(at(i), to[i]));
    }
  }
  if (changes > max_described_changes) {
    text += fmt::format(" and {} more", changes - max_described_changes);
  }
  return text;
}

}  // namespace kernsmith::agents
