// What makes one search differ from another: where to go next. The engine (search.cpp) does the rest: opening, order, budget, stopping.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/search/expander.hpp"
#include "agents/search/history.hpp"
#include "agents/search/random_source.hpp"
#include "agents/search/search.hpp"

namespace kernsmith::agents {

/// What a policy works with; all of it outlives the policy.
struct policy_tools {
  const history* past = nullptr;
  expander* makes = nullptr;
  random_source* chance = nullptr;
  std::int64_t budget = 0;
};

class policy {
 public:
  virtual ~policy() = default;
  /// How many diverse drafts the opening should have.
  [[nodiscard]] virtual std::int64_t opening_drafts() const = 0;
  /// A new candidate. Nothing: the policy sees none, and the engine takes any untried point.
  [[nodiscard]] virtual std::optional<candidate_point> propose() = 0;
  /// Node `id` got this id after the policy's propose() (or the engine) made it.
  virtual void given_out(std::int64_t id) = 0;
  /// The outcome of node `id` stands in the history now; `gained` is the log speed-up over the best before, 0 when it is not the new best.
  virtual void applied(std::int64_t id, double gained) = 0;
  [[nodiscard]] virtual std::string state_text() const = 0;
};

[[nodiscard]] const std::vector<std::string>& policy_names();
/// nullptr for an unknown name.
[[nodiscard]] std::unique_ptr<policy> make_policy(const std::string& name, const policy_tools& tools);

[[nodiscard]] std::unique_ptr<policy> make_mcts_policy(const policy_tools& tools);
[[nodiscard]] std::unique_ptr<policy> make_evolution_policy(const policy_tools& tools);
[[nodiscard]] std::unique_ptr<policy> make_random_policy(const policy_tools& tools);

}  // namespace kernsmith::agents
