// The rules generator over the Triton grammars.
#include <fmt/format.h>

#include <utility>

#include "agents/synthesis/rules_generator.hpp"
#include "agents/synthesis/triton/triton_emission.hpp"
#include "agents/synthesis/triton/triton_grammar.hpp"

namespace kernsmith::agents::triton {

result<std::unique_ptr<generator>> make_triton_rules_generator(const problem& p) {
  const result<tensor_ir> ir = lower(p);
  if (!ir) return tl::unexpected(ir.error());
  if (const int axis = untold_axis(*ir); axis >= 0)
    return fail(
        fault::bad_request,
        fmt::format("{}: the rules have no Triton kernel: axis {} stands in no shape of an input or output, and a launch in Python is "
                    "told nothing else; give a tensor that dimension",
                    p.name, ir->axes[static_cast<std::size_t>(axis)].name));
  grammar_list grammars;
  grammars.push_back(make_product_grammar());
  grammars.push_back(make_row_grammar());
  grammars.push_back(make_plain_grammar());
  result<std::unique_ptr<rules_generator>> made = make_rules_generator(p, std::move(grammars), assemble_triton_source);
  if (!made) return tl::unexpected(made.error());
  return std::unique_ptr<generator>(std::move(*made));
}

}  // namespace kernsmith::agents::triton
