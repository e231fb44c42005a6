// One self-contained CUDA or HIP source file out of emitted groups (conventions: simt_grammar.hpp).
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/source_assembly.hpp"

namespace kernsmith::agents::simt {

[[nodiscard]] std::string assemble_simt_source(const std::string& problem_name, const simt_model& model, const tensor_ir& ir,
                                               const std::vector<assembled_group>& groups);

}  // namespace kernsmith::agents::simt
