#include "agents/synthesis/rules_grammar.hpp"

#include <utility>

#include "agents/synthesis/rules_generator.hpp"

namespace kernsmith::agents {

result<std::unique_ptr<generator>> make_rules_generator(const problem& p, const machine_model& machine) {
  grammar_list grammars;
  grammars.push_back(make_contraction_grammar());
  grammars.push_back(make_window_grammar());
  grammars.push_back(make_row_grammar());
  grammars.push_back(make_plain_grammar());
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, machine, std::move(grammars));
  if (!made) return tl::unexpected(made.error());
  return std::unique_ptr<generator>(std::move(*made));
}

}  // namespace kernsmith::agents
