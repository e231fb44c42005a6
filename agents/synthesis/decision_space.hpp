// Schedule decisions as plain data: what a synthesizer may choose, and one set of choices. The rules grammar, tunable seed kernels and
// every search policy speak in these; a mutation is a change of values, a crossover a merge of two assignments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kernsmith::agents {

/// One thing to decide, with a finite set of values.
struct decision {
  std::string name;                  ///< unique in its space, stable across runs: "softmax.row_block", "TILE_M"
  std::vector<std::int64_t> values;  ///< at least one, distinct, in their natural order (neighbours are close)
  std::vector<std::string> labels;   ///< empty, or parallel to `values`, for choices that aren't numbers
  std::size_t preferred = 0;         ///< position in `values` of the analytical first guess
  double weight = 1.0;               ///< how often a mutation picks this decision, relative to the others
  std::string meaning;               ///< one line for people and models

  [[nodiscard]] bool categorical() const { return !labels.empty(); }
};

using assignment = std::map<std::string, std::int64_t>;

/// All decisions of one way to implement a problem.
struct decision_space {
  std::string name;  ///< "rules", or the seed kernel's name
  std::vector<decision> decisions;
};

/// The analytical first guess.
[[nodiscard]] assignment preferred_assignment(const decision_space& space);
/// "row_block=4 sweeps=online": what a person reads.
[[nodiscard]] std::string describe(const decision_space& space, const assignment& chosen);
/// Drops names that the space doesn't have, adds the missing ones at their preferred value, moves foreign values to the nearest legal one.
[[nodiscard]] assignment fit(const decision_space& space, const assignment& wanted);

}  // namespace kernsmith::agents
