// Steady-state evolution: tournaments pick parents from a bounded population, children are mutations, crossovers and immigrants, and the
// best member is polished one decision at a time in between. Large budgets get islands, which exchange their best now and then.
#include <algorithm>

#include <fmt/format.h>

#include "agents/search/credit.hpp"
#include "agents/search/policy.hpp"

namespace kernsmith::agents {

namespace {

constexpr double tune_share = 0.4;
constexpr double crossover_share = 0.5;
constexpr std::size_t population_size = 12;
constexpr std::size_t tournament_size = 3;
constexpr std::int64_t budget_per_island = 96;
constexpr std::int64_t max_islands = 4;
constexpr std::int64_t migration_interval = 24;

class evolution_policy final : public policy {
 public:
  explicit evolution_policy(const policy_tools& tools)
      : tools_(tools),
        credit_(tools.past->spaces().size()),
        islands_(static_cast<std::size_t>(std::clamp(tools.budget / budget_per_island, std::int64_t{1}, max_islands))) {}

  std::int64_t opening_drafts() const override {
    constexpr std::int64_t most = 6;
    constexpr std::int64_t budget_share = 10;
    return std::min(most * static_cast<std::int64_t>(islands_.size()), tools_.budget / budget_share);
  }

  std::optional<candidate_point> propose() override {
    if (tools_.past->best() && tools_.chance->chance(tune_share)) {
      if (auto made = tools_.makes->tune(best_here())) {
        return made;
      }
    }
    const memory_mode memory = credit_.choose_memory();
    if (memory == memory_mode::clean_slate || here().empty()) {
      return tools_.makes->draft(credit_.choose_generator(tools_.makes->open_generators()));
    }
    const std::int64_t parent = tournament();
    // The population is what a member can compare itself with, so learning from others means taking parts of them or what paid beside them.
    if (memory != memory_mode::parent && tools_.chance->chance(crossover_share)) {
      if (auto made = tools_.makes->cross(parent, tournament())) {
        made->memory = memory;
        return made;
      }
    }
    if (auto made = tools_.makes->change(parent, memory)) {
      return made;
    }
    return tools_.makes->change(parent, memory_mode::parent);
  }

  void given_out(std::int64_t /*id*/) override {
    island_of_.push_back(turn_);
    turn_ = (turn_ + 1) % islands_.size();
  }

  void applied(std::int64_t id, double gained) override {
    credit_.learn(*tools_.past, id, gained);
    const node& seen = tools_.past->at(id);
    if (seen.passed && !seen.duplicate) {
      join(islands_[island_of_[static_cast<std::size_t>(id)]], id);
    }
    if ((id + 1) % migration_interval == 0 && islands_.size() > 1) {
      migrate();
    }
  }

  std::string state_text() const override {
    std::string text = credit_.state_text() + fmt::format("|{}|", turn_);
    for (const auto& island : islands_) {
      text += fmt::format("{};", fmt::join(island, ","));
    }
    return text;
  }

 private:
  using population = std::vector<std::int64_t>;  ///< best first

  [[nodiscard]] const population& here() const { return islands_[turn_]; }
  [[nodiscard]] std::int64_t best_here() const { return here().empty() ? *tools_.past->best() : here().front(); }

  /// Members are kept in order of speed, so the lowest of some random ranks wins.
  [[nodiscard]] std::int64_t tournament() {
    std::size_t rank = here().size();
    for (std::size_t i = 0; i < tournament_size; ++i) {
      rank = std::min(rank, tools_.chance->below(here().size()));
    }
    return here()[rank];
  }

  void join(population& members, std::int64_t id) const {
    if (std::find(members.begin(), members.end(), id) != members.end()) {
      return;
    }
    const auto slower = [this](std::int64_t a, std::int64_t b) { return tools_.past->at(a).log_speedup > tools_.past->at(b).log_speedup; };
    members.insert(std::upper_bound(members.begin(), members.end(), id, slower), id);
    if (members.size() > population_size) {
      members.pop_back();
    }
  }

  void migrate() {
    std::vector<std::int64_t> travellers;
    for (const population& island : islands_) {
      travellers.push_back(island.empty() ? -1 : island.front());
    }
    for (std::size_t i = 0; i < islands_.size(); ++i) {
      if (travellers[i] >= 0) {
        join(islands_[(i + 1) % islands_.size()], travellers[i]);
      }
    }
  }

  policy_tools tools_;
  credit credit_;
  std::vector<population> islands_;
  std::vector<std::size_t> island_of_;  ///< by node id
  std::size_t turn_ = 0;                ///< the island that makes the next candidate
};

}  // namespace

std::unique_ptr<policy> make_evolution_policy(const policy_tools& tools) {
  return std::make_unique<evolution_policy>(tools);
}

}  // namespace kernsmith::agents
