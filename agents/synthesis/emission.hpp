// What the grammars share when they put a group's function and its call into the file.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/group_grammar.hpp"

namespace kernsmith::agents {

/// Tensors and axes that a function of some statements takes, in the order of their declaration.
struct function_parameters {
  std::vector<int> tensors;
  std::vector<int> axes;
};

[[nodiscard]] function_parameters parameters_of(const tensor_ir& ir, const std::vector<int>& statements);
/// "const float* __restrict x, float* __restrict y, int64_t N, int threads". Tensors that one of `statements` writes aren't const.
[[nodiscard]] std::string declare_parameters(const tensor_ir& ir, const function_parameters& parameters,
                                             const std::vector<int>& statements);
/// "x, y, N, ctx->threads": the same in launch().
[[nodiscard]] std::string pass_parameters(const tensor_ir& ir, const function_parameters& parameters);

}  // namespace kernsmith::agents
