#include "agents/search/policy.hpp"

namespace kernsmith::agents {

const std::vector<std::string>& policy_names() {
  static const std::vector<std::string> names{"mcts", "evolution", "random"};
  return names;
}

std::unique_ptr<policy> make_policy(const std::string& name, const policy_tools& tools) {
  if (name == "mcts") {
    return make_mcts_policy(tools);
  }
  if (name == "evolution") {
    return make_evolution_policy(tools);
  }
  return name == "random" ? make_random_policy(tools) : nullptr;
}

}  // namespace kernsmith::agents
