// Learns which memory mode and which generator pays, from what came of the moves that used them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agents/search/bandit.hpp"
#include "agents/search/history.hpp"
#include "agents/search/search.hpp"

namespace kernsmith::agents {

class credit {
 public:
  explicit credit(std::size_t generators);

  [[nodiscard]] memory_mode choose_memory();
  /// For fresh drafts. At least one of `open` is true.
  [[nodiscard]] std::size_t choose_generator(const std::vector<bool>& open);
  /// `gained`: as in policy::applied.
  void learn(const history& past, std::int64_t id, double gained);
  [[nodiscard]] std::string state_text() const;

 private:
  bandit memories_;
  bandit generators_;
};

}  // namespace kernsmith::agents
