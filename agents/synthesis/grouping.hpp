// How the statements of a problem are split into fusion groups, and which grammar computes each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/synthesis/group_grammar.hpp"

namespace kernsmith::agents {

using grammar_list = std::vector<std::unique_ptr<group_grammar>>;

struct planned_group {
  fusion_group group;
  const group_grammar* grammar = nullptr;
};

/// A run of statements with one or two ways to compute it: ways[0] fuses all that the grammars can fuse, ways[1] stores what is computed
/// ahead of a contraction or window instead of recomputing it inside.
struct planned_run {
  std::string fuse_decision;  ///< "<name>.fuse"; empty with one way
  std::string fuse_meaning;
  std::vector<std::vector<planned_group>> ways;
};

struct grouping {
  tensor_ir ir;  ///< perhaps with its statements in another order, each still after what it reads
  std::vector<planned_run> runs;
  std::vector<std::string> notes;  ///< what could not be fused, for people
};

/// The split that moves the fewest bytes between groups. The last grammar must accept every single statement.
[[nodiscard]] grouping plan_groups(tensor_ir ir, const grammar_list& grammars);

}  // namespace kernsmith::agents
