// What the OpenCL grammars share when they put kernels and the commands that run them into the file.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/emission.hpp"
#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/source_assembly.hpp"

namespace kernsmith::agents::opencl {

/// The same IR with a trailing underscore on names that mean something in OpenCL C: the IR's own names never end in one.
[[nodiscard]] tensor_ir with_device_names(const tensor_ir& ir);

/// `__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void y_rows(__global const float* restrict x, ..., const ks_ix N)`.
/// Tensors that one of `statements` writes aren't const.
[[nodiscard]] std::string kernel_head(const std::string& name, std::int64_t group, const tensor_ir& ir,
                                      const function_parameters& parameters, const std::vector<int>& statements);

/// The whole file.
[[nodiscard]] std::string assemble_opencl_source(const std::string& problem_name, const tensor_ir& ir,
                                                 const std::vector<assembled_group>& groups);

}  // namespace kernsmith::agents::opencl
