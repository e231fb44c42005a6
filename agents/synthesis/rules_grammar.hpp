// The rules synthesizer for the C++ target: definition -> tensor IR -> fusion groups -> decisions -> readable source. Values in, values
// out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agents/synthesis/decision_space.hpp"
#include "agents/synthesis/machine_model.hpp"
#include "config/problem.hpp"

namespace kernsmith::agents {

/// A candidate that a synthesizer proposes; not yet built.
struct proposal {
  std::string source;              ///< one self-contained file
  assignment decisions;            ///< normalised: equal assignments give equal sources
  std::string rationale;           ///< what was decided and why, one or two sentences
  std::vector<std::string> notes;  ///< e.g. statements that the grammar could not fuse
};

/// Something that turns assignments into sources: the rules grammar, or a user's kernel with KS_PARAMs.
class generator {
 public:
  virtual ~generator() = default;
  [[nodiscard]] virtual const decision_space& space() const = 0;
  /// The assignment after fit() and the removal of choices that other choices make meaningless.
  [[nodiscard]] virtual assignment normalise(const assignment& wanted) const = 0;
  [[nodiscard]] virtual result<proposal> generate(const assignment& wanted) const = 0;
};

/// Fails (bad_request) when the problem has no definition to synthesise from.
[[nodiscard]] result<std::unique_ptr<generator>> make_rules_generator(const problem& p, const machine_model& machine);

/// A source with zero or more KS_PARAM(name, default, values...) lines. Fails with the line of a malformed KS_PARAM.
[[nodiscard]] result<std::unique_ptr<generator>> make_seed_generator(const source_file& seed);

}  // namespace kernsmith::agents
