// Grammars that write Triton: a program takes a tile of elements, its rows along one or more indices, its columns along others.
//
// Conventions of the emitted file (triton_emission.cpp writes it), beside those of group_grammar.hpp:
//  - it is Python: launch(inputs, outputs, stream), as docs/pytorch-hosting.md says.
//  - emitted_group::functions are the group's @triton.jit kernels and one host function "<group>_group" that starts them. Axes are
//    tl.constexpr parameters, so a kernel is compiled for each shape; decisions are constants. `index` is the type of positions: tl.int64
//    where 32 bits don't hold them.
//  - emitted_group::call is the call of that function in launch(), where each axis and each tensor has the name of with_python_names().
#pragma once

#include <memory>
#include <string>

#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/rules_grammar.hpp"

namespace kernsmith::agents::triton {

/// Sums of products by tl.dot, tile by tile: matrix products, batched ones, convolutions; elementwise statements before and after.
[[nodiscard]] std::unique_ptr<group_grammar> make_product_grammar();
/// Maps, reductions, map-reduce-map chains, scans, gathers.
[[nodiscard]] std::unique_ptr<group_grammar> make_row_grammar();
/// Any single statement, one lane per element.
[[nodiscard]] std::unique_ptr<group_grammar> make_plain_grammar();

/// Fails (bad_request) when the problem has no definition, or an axis that no tensor's shape tells.
[[nodiscard]] result<std::unique_ptr<generator>> make_triton_rules_generator(const problem& p);

}  // namespace kernsmith::agents::triton
