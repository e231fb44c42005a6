// From syntax to meaning: names looked up, ranges inferred, types decided, everything checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/definition_syntax.hpp"
#include "config/problem.hpp"

namespace kernsmith {

/// What [intermediates.NAME] says.
struct intermediate_declaration {
  std::string name;
  std::optional<dtype> type;
  std::optional<std::vector<dim>> shape;
  std::optional<double> pad;
  source_place place;
};

/// Appends the intermediates to p.tensors, fills p.statements and the inputs' index_limits. `p` holds axes, inputs, outputs and the
/// precision contract. Throws refusal.
void resolve_definition(problem& p, const located_text& text, const std::vector<intermediate_declaration>& intermediates);

/// "N (1024)" or "512".
[[nodiscard]] std::string describe(const dim& d, const std::vector<axis>& axes);

}  // namespace kernsmith
