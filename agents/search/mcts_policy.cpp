// Monte-Carlo tree search over moves: the root's children are drafts and warm starts, every other edge is a change of decisions. PUCT picks
// the node to expand, progressive widening bounds its children, outstanding moves count as visits without value (virtual loss), and a node
// is as good as half the mean and half the best of what grew from it, since the best leaf is what is wanted.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "agents/search/credit.hpp"
#include "agents/search/policy.hpp"

namespace kernsmith::agents {

namespace {

constexpr double tune_share = 0.5;
/// Of the tuning moves, those that go to the best of a generator other than the overall best's: a structure isn't judged by one untuned
/// instance.
constexpr double tune_elsewhere_share = 0.15;
constexpr double exploration = 0.4;
constexpr double best_share = 0.5;
constexpr double prior_sharpness = 2;
constexpr double widening_factor = 1.5;
constexpr double widening_power = 0.5;

class mcts_policy final : public policy {
 public:
  explicit mcts_policy(const policy_tools& tools) : tools_(tools), credit_(tools.past->spaces().size()) {}

  std::int64_t opening_drafts() const override {
    constexpr std::int64_t most = 4;
    constexpr std::int64_t budget_share = 10;
    return std::min(most, tools_.budget / budget_share);
  }

  std::optional<candidate_point> propose() override {
    if (tools_.past->best() && tools_.chance->chance(tune_share)) {
      if (auto made = tune()) {
        return made;
      }
    }
    const memory_mode memory = credit_.choose_memory();
    if (memory == memory_mode::clean_slate || !tools_.past->best()) {
      return tools_.makes->draft(credit_.choose_generator(tools_.makes->open_generators()));
    }
    const std::int64_t id = select();
    if (auto made = tools_.makes->change(id, memory)) {
      return made;
    }
    return tools_.makes->change(id, memory_mode::parent);
  }

  void given_out(std::int64_t /*id*/) override {}
  void applied(std::int64_t id, double gained) override { credit_.learn(*tools_.past, id, gained); }
  std::string state_text() const override { return credit_.state_text(); }

 private:
  struct statistics {
    double visits = 0;
    double sum = 0;
    double best = 0;

    [[nodiscard]] double quality() const { return best_share * best + (1 - best_share) * (visits > 0 ? sum / visits : 0); }
  };

  std::optional<candidate_point> tune() {
    std::int64_t id = *tools_.past->best();
    if (tools_.chance->chance(tune_elsewhere_share)) {
      const std::size_t other = tools_.chance->below(tools_.past->spaces().size());
      id = tools_.past->best_of(other).value_or(id);
    }
    return tools_.makes->tune(id);
  }

  /// Of each node with all that grew from it. Children have higher ids than parents, so one backward pass does.
  [[nodiscard]] std::vector<statistics> gather() const {
    const auto& nodes = tools_.past->nodes();
    std::vector<statistics> found(nodes.size());
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const double own = tools_.past->value(static_cast<std::int64_t>(i));
      found[i].visits += 1;
      found[i].sum += own;
      found[i].best = std::max(found[i].best, own);
      if (!nodes[i].made.parents.empty()) {
        statistics& parent = found[static_cast<std::size_t>(nodes[i].made.parents.front())];
        parent.visits += found[i].visits;
        parent.sum += found[i].sum;
        parent.best = std::max(parent.best, found[i].best);
      }
    }
    return found;
  }

  /// The child of `id` (-1: the root) with the highest PUCT bound among those that can be expanded; -1 when there is none.
  [[nodiscard]] std::int64_t best_child(std::int64_t id, double parent_visits, const std::vector<statistics>& known) const {
    const history& past = *tools_.past;
    double total_prior = 0;
    for (const std::int64_t child : past.children(id)) {
      total_prior += std::exp(prior_sharpness * past.value(child));
    }
    std::int64_t chosen = -1;
    double highest = 0;
    for (const std::int64_t child : past.children(id)) {
      const node& seen = past.at(child);
      if (!seen.applied || !seen.passed || seen.duplicate) {
        continue;
      }
      const statistics& own = known[static_cast<std::size_t>(child)];
      const double prior = std::exp(prior_sharpness * past.value(child)) / total_prior;
      const double bound = own.quality() + exploration * prior * std::sqrt(parent_visits) / (1 + own.visits);
      if (chosen < 0 || bound > highest) {
        chosen = child;
        highest = bound;
      }
    }
    return chosen;
  }

  [[nodiscard]] std::int64_t select() const {
    const std::vector<statistics> known = gather();
    std::int64_t id = -1;
    double visits = static_cast<double>(known.size());
    while (true) {
      const auto width = static_cast<double>(id < 0 ? 0 : tools_.past->children(id).size());
      if (id >= 0 && width < widening_factor * std::pow(visits, widening_power)) {
        return id;
      }
      const std::int64_t next = best_child(id, visits, known);
      if (next < 0) {
        return id >= 0 ? id : *tools_.past->best();
      }
      id = next;
      visits = known[static_cast<std::size_t>(id)].visits;
    }
  }

  policy_tools tools_;
  credit credit_;
};

}  // namespace

std::unique_ptr<policy> make_mcts_policy(const policy_tools& tools) {
  return std::make_unique<mcts_policy>(tools);
}

}  // namespace kernsmith::agents
