// The control: any point of any generator, nothing learned. What the others are worth is measured against it.
#include "agents/search/policy.hpp"

namespace kernsmith::agents {

namespace {

class random_policy final : public policy {
 public:
  explicit random_policy(const policy_tools& tools) : tools_(tools) {}

  std::int64_t opening_drafts() const override { return 0; }

  std::optional<candidate_point> propose() override {
    std::vector<double> weights;
    for (const bool open : tools_.makes->open_generators()) {
      weights.push_back(open ? 1 : 0);
    }
    return tools_.makes->anything(tools_.chance->weighted(weights));
  }

  void given_out(std::int64_t /*id*/) override {}
  void applied(std::int64_t /*id*/, double /*gained*/) override {}
  std::string state_text() const override { return {}; }

 private:
  policy_tools tools_;
};

}  // namespace

std::unique_ptr<policy> make_random_policy(const policy_tools& tools) {
  return std::make_unique<random_policy>(tools);
}

}  // namespace kernsmith::agents
