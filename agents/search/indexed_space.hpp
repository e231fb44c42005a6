// A generator's decision space with every value replaced by its position: what the operators and the model of the search compute with.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "agents/synthesis/decision_space.hpp"
#include "agents/synthesis/rules_grammar.hpp"

namespace kernsmith::agents {

/// One position in `decision::values` per decision, in the order of the space.
using point = std::vector<int>;

class indexed_space {
 public:
  /// `source` outlives this.
  explicit indexed_space(const generator& source);

  [[nodiscard]] std::size_t dimensions() const { return space_->decisions.size(); }
  [[nodiscard]] const decision& at(std::size_t dimension) const { return space_->decisions[dimension]; }
  [[nodiscard]] int values(std::size_t dimension) const { return static_cast<int>(at(dimension).values.size()); }
  [[nodiscard]] const std::string& name() const { return space_->name; }
  /// Decisions with the same text before the last '.' have the same group number.
  [[nodiscard]] std::size_t group(std::size_t dimension) const { return groups_[dimension]; }
  [[nodiscard]] std::size_t group_count() const { return group_count_; }
  /// Dimensions with more than one value.
  [[nodiscard]] const std::vector<std::size_t>& open_dimensions() const { return open_; }

  [[nodiscard]] point preferred() const;
  /// The point that the generator would really build for `wanted`.
  [[nodiscard]] point normalised(const point& wanted) const { return to_point(source_->normalise(to_assignment(wanted))); }
  [[nodiscard]] point normalised(const assignment& wanted) const { return to_point(source_->normalise(wanted)); }
  [[nodiscard]] assignment to_assignment(const point& where) const;
  /// "row_block 4 -> 8, sweeps two -> online", at most a few changes spelled out.
  [[nodiscard]] std::string describe_change(const point& from, const point& to) const;

 private:
  [[nodiscard]] point to_point(const assignment& chosen) const;

  const generator* source_;
  const decision_space* space_;
  std::vector<std::size_t> groups_;
  std::size_t group_count_ = 0;
  std::vector<std::size_t> open_;
};

}  // namespace kernsmith::agents
