// The rules generator over a chosen list of grammars: make_rules_generator() uses all of them, tests of one grammar only that one.
#pragma once

#include <functional>
#include <memory>

#include "agents/synthesis/grouping.hpp"
#include "agents/synthesis/rules_grammar.hpp"
#include "agents/synthesis/source_assembly.hpp"

namespace kernsmith::agents {

/// A generator whose grouping can be looked at.
class rules_generator : public generator {
 public:
  [[nodiscard]] virtual const grouping& groups() const = 0;
};

/// `grammars` in the order in which they are asked; the last must accept every single statement (make_plain_grammar).
[[nodiscard]] result<std::unique_ptr<rules_generator>> make_rules_generator(const problem& p, const machine_model& machine,
                                                                            grammar_list grammars);

/// Puts the emitted groups into one file: what differs between target languages.
using source_assembler =
    std::function<std::string(const std::string& problem_name, const tensor_ir& ir, const std::vector<assembled_group>& groups)>;

/// The same for grammars of another target, which know their device themselves.
[[nodiscard]] result<std::unique_ptr<rules_generator>> make_rules_generator(const problem& p, grammar_list grammars,
                                                                            source_assembler assemble);

}  // namespace kernsmith::agents
