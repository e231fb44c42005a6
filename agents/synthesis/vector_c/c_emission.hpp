// What the grammars share when they put a group's function and its call into the file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agents/synthesis/ir.hpp"
#include "agents/synthesis/source_assembly.hpp"
#include "agents/synthesis/source_writer.hpp"

namespace kernsmith::agents::vector_c {

struct vector_model;

/// "const float* restrict x, float* restrict y, int64_t N". Tensors that one of `statements` writes aren't const.
/// Those in `absent` are left out: intermediates that never reach memory.
[[nodiscard]] std::string declare_c_parameters(const tensor_ir& ir, const std::vector<int>& statements, const std::set<int>& absent = {});
/// "x, y, N": the same in launch().
[[nodiscard]] std::string pass_c_parameters(const tensor_ir& ir, const std::vector<int>& statements, const std::set<int>& absent = {});

/// The comment at the head of a file: definition, groups and decisions. `target` is who the file is for.
void write_c_heading(source_writer& out, const std::string& problem_name, const std::string& target, const tensor_ir& ir,
                     const std::vector<assembled_group>& groups);
/// Do these functions need prelude piece "scalar"?
[[nodiscard]] bool calls_scalar_prelude(const std::string& functions);

/// The whole file.
[[nodiscard]] std::string assemble_c_source(const std::string& problem_name, const vector_model& model, const tensor_ir& ir,
                                            const std::vector<assembled_group>& groups);

}  // namespace kernsmith::agents::vector_c
