// The rules generator over the grammars for C targets.
#include <utility>

#include "agents/synthesis/rules_generator.hpp"
#include "agents/synthesis/vector_c/c_emission.hpp"
#include "agents/synthesis/vector_c/vector_c_grammar.hpp"

namespace kernsmith::agents::vector_c {

vector_model model_of(const external_target& target) {
  return {target.name, target.dialect, target.device.vector_bytes, target.device.max_group};
}

result<std::unique_ptr<generator>> make_vector_c_generator(const problem& p, const external_target& target) {
  const vector_model model = model_of(target);
  grammar_list grammars;
  grammars.push_back(make_row_grammar(model));
  grammars.push_back(make_across_grammar(model));
  grammars.push_back(make_plain_grammar(model));
  const auto assemble = [model](const std::string& name, const tensor_ir& ir, const std::vector<assembled_group>& groups) {
    return assemble_c_source(name, model, ir, groups);
  };
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, std::move(grammars), assemble);
  if (!made) return tl::unexpected(made.error());
  return std::unique_ptr<generator>(std::move(*made));
}

}  // namespace kernsmith::agents::vector_c
