// The rules generator over the OpenCL grammars.
#include <utility>

#include "agents/synthesis/opencl/opencl_emission.hpp"
#include "agents/synthesis/opencl/opencl_grammar.hpp"
#include "agents/synthesis/rules_generator.hpp"

namespace kernsmith::agents::opencl {

result<std::unique_ptr<generator>> make_opencl_rules_generator(const problem& p, const machine_model& machine) {
  grammar_list grammars;
  grammars.push_back(make_product_grammar(machine));
  grammars.push_back(make_row_grammar(machine));
  grammars.push_back(make_plain_grammar());
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, std::move(grammars), assemble_opencl_source);
  if (!made) return tl::unexpected(made.error());
  return std::unique_ptr<generator>(std::move(*made));
}

result<std::string> plain_opencl_source(const problem& p) {
  grammar_list grammars;
  grammars.push_back(make_plain_grammar());
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, std::move(grammars), assemble_opencl_source);
  if (!made) return tl::unexpected(made.error());
  result<proposal> proposed = (*made)->generate(preferred_assignment((*made)->space()));
  if (!proposed) return tl::unexpected(proposed.error());
  return std::move(proposed->source);
}

}  // namespace kernsmith::agents::opencl
