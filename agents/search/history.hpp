// Everything that a search has given out and learned: one node per move. The tree, the populations and the model are all derived from it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agents/search/indexed_space.hpp"
#include "agents/search/search.hpp"

namespace kernsmith::agents {

/// What an operator suggests; it becomes a node when it is given out.
struct candidate_point {
  std::size_t generator = 0;
  point where;  ///< normalised
  move_kind kind = move_kind::draft;
  memory_mode memory = memory_mode::clean_slate;
  std::vector<std::int64_t> parents;  ///< the first one is the tree parent
  std::string why;
};

struct node {
  candidate_point made;
  bool applied = false;    ///< false: outstanding
  bool passed = false;     ///< false too for a "speed-up" that isn't a positive finite number
  bool duplicate = false;  ///< its machine code is that of an earlier node
  double log_speedup = 0;  ///< natural log, when passed
  double roofline_fraction = 0;
};

class history {
 public:
  explicit history(std::vector<indexed_space> spaces);

  [[nodiscard]] const std::vector<indexed_space>& spaces() const { return spaces_; }
  [[nodiscard]] const indexed_space& space(std::size_t generator) const { return spaces_[generator]; }
  [[nodiscard]] const std::vector<node>& nodes() const { return nodes_; }
  [[nodiscard]] const node& at(std::int64_t id) const { return nodes_[static_cast<std::size_t>(id)]; }
  /// Nodes whose first parent is `id`, in order; id -1: nodes without parents.
  [[nodiscard]] const std::vector<std::int64_t>& children(std::int64_t id) const { return children_[static_cast<std::size_t>(id + 1)]; }
  [[nodiscard]] bool tried(std::size_t generator, const point& where) const { return tried_.contains({generator, where}); }

  /// Adds a node; its id is the number of nodes before it. `made.where` must be new.
  std::int64_t give_out(candidate_point made);
  /// Outcomes come in the order of the ids. True when the node is the new best.
  bool apply(std::int64_t id, const move_outcome& outcome);

  [[nodiscard]] std::int64_t applied_count() const { return applied_; }
  [[nodiscard]] std::int64_t outstanding() const { return static_cast<std::int64_t>(nodes_.size()) - applied_; }
  [[nodiscard]] std::optional<std::int64_t> best() const { return best_; }
  [[nodiscard]] std::optional<std::int64_t> best_of(std::size_t generator) const { return best_of_[generator]; }
  /// In [0, 1]: 0 for failures and everything far below the best, 1 for the best; log scale, so that one outlier doesn't flatten the rest.
  [[nodiscard]] double value(std::int64_t id) const;
  /// Log speed-up as the model sees it: clipped from below, failures at the bottom.
  [[nodiscard]] double target(const node& seen) const;
  /// How likely a value is to blame for failures, in [0, 1): failures whose change brought it in, against passes that had it.
  [[nodiscard]] double blame(std::size_t generator, std::size_t dimension, int value) const;
  /// Probability that nothing in `where` breaks the candidate, as far as blame tells.
  [[nodiscard]] double trust(std::size_t generator, const point& where) const;

 private:
  struct value_record {
    double failures = 0;
    double passes = 0;
  };

  void note_values(const node& seen);

  std::vector<indexed_space> spaces_;
  std::vector<node> nodes_;
  std::vector<std::vector<std::int64_t>> children_;
  std::set<std::pair<std::size_t, point>> tried_;
  std::set<std::string> codes_;
  std::vector<std::vector<std::vector<value_record>>> records_;  ///< by generator, dimension, value
  std::int64_t applied_ = 0;
  std::optional<std::int64_t> best_;
  std::vector<std::optional<std::int64_t>> best_of_;
  double worst_ = 0;  ///< lowest log speed-up that passed
};

}  // namespace kernsmith::agents
