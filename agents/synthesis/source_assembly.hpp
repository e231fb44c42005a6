// One self-contained source file out of emitted groups: header comment, includes, prelude, functions, launch().
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/group_grammar.hpp"

namespace kernsmith::agents {

/// What the header comment says and the body consists of.
struct assembled_group {
  std::string summary;  ///< one line: which statements, which grammar
  std::string decisions;
  emitted_group code;
};

/// `inputs` and `outputs` are tensor ids in the problem's order. Stored intermediates get their place in one workspace.
[[nodiscard]] std::string assemble_source(const std::string& problem_name, const machine_model& machine, const tensor_ir& ir,
                                          const std::vector<assembled_group>& groups);

}  // namespace kernsmith::agents
