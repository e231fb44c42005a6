// Turns "expand this node, looking at that much of the past" into one new candidate: the operators propose many points, the model and what
// is known of failures rank them, and the best one that was never given out is taken (now and then a random one, so that a wrong model is
// found out).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agents/search/history.hpp"
#include "agents/search/moves.hpp"
#include "agents/search/random_source.hpp"
#include "agents/search/surrogate.hpp"

namespace kernsmith::agents {

class expander {
 public:
  /// Both outlive this.
  expander(const history& past, random_source& chance);

  /// A fresh draft, away from what was tried: for the opening.
  [[nodiscard]] std::optional<candidate_point> diverse_draft(std::size_t generator);
  /// A fresh draft that the model likes: clean slate.
  [[nodiscard]] std::optional<candidate_point> draft(std::size_t generator);
  /// A child of node `id`. `memory` is parent, siblings or both. Nothing when that memory is empty or its neighbourhood is used up.
  [[nodiscard]] std::optional<candidate_point> change(std::int64_t id, memory_mode memory);
  /// A merge of two nodes of one generator, the first one being the tree parent.
  [[nodiscard]] std::optional<candidate_point> cross(std::int64_t first, std::int64_t second);
  /// Coordinate descent from node `id`: one decision at a time, untried neighbours first.
  [[nodiscard]] std::optional<candidate_point> tune(std::int64_t id);
  /// Every value equally likely; when chance finds nothing new, the first untried point in order. Nothing: this space is used up.
  [[nodiscard]] std::optional<candidate_point> anything(std::size_t generator);
  /// False once anything() found nothing.
  [[nodiscard]] bool open(std::size_t generator) const { return !used_up_[generator]; }
  [[nodiscard]] std::vector<bool> open_generators() const;

  [[nodiscard]] std::string state_text() const;

 private:
  struct scored {
    point where;
    double gain = 0;
  };

  const surrogate& model(std::size_t generator);
  /// Normalised, new, distinct members of `wanted`, in order.
  [[nodiscard]] std::vector<point> fresh(std::size_t generator, const std::vector<point>& wanted) const;
  [[nodiscard]] std::optional<point> pick(std::size_t generator, const std::vector<point>& pool);
  [[nodiscard]] std::vector<point> with_memory(std::int64_t id, memory_mode memory);
  [[nodiscard]] std::optional<candidate_point> child(std::int64_t id, std::optional<point> where, move_kind kind, memory_mode memory,
                                                     const std::string& why) const;
  [[nodiscard]] std::optional<point> next_in_order(std::size_t generator);

  const history* past_;
  random_source* chance_;
  std::vector<surrogate> models_;
  std::vector<std::size_t> fitted_at_;         ///< applied and given-out counts at which each model was fitted, mixed
  std::vector<std::optional<point>> cursors_;  ///< where next_in_order() goes on
  std::vector<std::int64_t> visited_;          ///< points that next_in_order() went over
  std::vector<bool> used_up_;
};

}  // namespace kernsmith::agents
