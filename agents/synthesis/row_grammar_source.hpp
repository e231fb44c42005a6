// Puts a planned row program into source text: the row or strip function, the loop over rows, the call in launch().
#pragma once

#include "agents/synthesis/row_grammar_plan.hpp"

namespace kernsmith::agents::row {

[[nodiscard]] emitted_group emit_source(const row_program& p, const plan& chosen, const machine_model& machine);

/// Does any output go to memory in whole vectors, so that streaming stores make sense?
[[nodiscard]] bool can_stream(const row_program& p, const plan& chosen);

}  // namespace kernsmith::agents::row
