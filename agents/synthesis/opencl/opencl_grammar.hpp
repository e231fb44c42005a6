// Grammars that write OpenCL C for CPU devices (PoCL): a work-item takes whole vectors of elements, and what a device's compiler makes of
// work-items beside that is its own affair.
//
// Conventions of the emitted file (opencl_assembly.cpp writes it), beside those of group_grammar.hpp:
//  - it is compiled twice, as docs/opencl.md says: kernels and prelude stand under `#ifdef __OPENCL_VERSION__`, launch() in the other half.
//  - emitted_group::functions are kernels of plain OpenCL C 1.2, named "<group>_...", each with its reqd_work_group_size. Their scalars are
//    those of vector_c/c_scalar.hpp; axes are `ks_ix`, 64 bits. Tensors, axes and indices have the names of with_device_names().
//  - emitted_group::call adds commands to `ks_commands` in launch(), where each axis is a `const int64_t` and each tensor a ks::input or
//    ks::output of its own name (that of the IR).
#pragma once

#include <memory>
#include <string>

#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/rules_grammar.hpp"

namespace kernsmith::agents::opencl {

/// Maps, reductions, map-reduce-map chains, scans, products over common indices: rows by work-items or work-groups, or neighbouring rows in
/// the lanes of vectors.
[[nodiscard]] std::unique_ptr<group_grammar> make_row_grammar(const machine_model& machine);
/// The same for one reduction whose operands neighbours use again, and what is done to its results: products, convolutions.
[[nodiscard]] std::unique_ptr<group_grammar> make_product_grammar(const machine_model& machine);
/// Any single statement, one work-item per element.
[[nodiscard]] std::unique_ptr<group_grammar> make_plain_grammar();

/// The rules generator over these grammars, for a device on `machine`. Fails (bad_request) when the problem has no definition.
[[nodiscard]] result<std::unique_ptr<generator>> make_opencl_rules_generator(const problem& p, const machine_model& machine);
/// Every statement by itself, one work-item per element: what a first kernel by hand would be. A baseline. Fails likewise.
[[nodiscard]] result<std::string> plain_opencl_source(const problem& p);

}  // namespace kernsmith::agents::opencl
