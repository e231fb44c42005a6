// What the SIMT grammars share when they put a group's kernels and their launch into the file.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/emission.hpp"
#include "agents/synthesis/group_grammar.hpp"

namespace kernsmith::agents::simt {

/// Largest element count and extent for which kernels compute positions in 32 bits: one stride of a grid beyond the end still fits.
inline constexpr std::int64_t largest_narrow = (std::int64_t{1} << 30) - (std::int64_t{1} << 16);
/// Blocks per multiprocessor that keep it busy when each thread strides over many elements.
inline constexpr std::int64_t persistent_blocks = 16;

/// "const float* __restrict__ x, float* y, ks_ix B, ks_ix N": parameters of a kernel (`index` is "ks_ix") or of a host function
/// ("int64_t"). Tensors that one of `statements` writes aren't const.
[[nodiscard]] std::string parameter_text(const tensor_ir& ir, const function_parameters& parameters, const std::vector<int>& statements,
                                         const std::string& index);
/// "x, y, B, N".
[[nodiscard]] std::string argument_text(const tensor_ir& ir, const function_parameters& parameters);

/// "B * N" of 64-bit axes; "1" for a scalar.
[[nodiscard]] std::string product_text(const tensor_ir& ir, const std::vector<dim>& shape);

/// A host expression: may positions in these statements' tensors and loops be computed in 32 bits? "false" when that can't be told.
[[nodiscard]] std::string fits_narrow(const tensor_ir& ir, const std::vector<int>& statements);

/// The statements inside launch() that call `function` of the group with the parameters and return its failure.
[[nodiscard]] std::string call_of(const std::string& function, const std::string& arguments);

/// The initial value of a reduction, as C++ text.
[[nodiscard]] std::string identity_of(reduction reducer, value_class type);
/// Booleans take part in sums, products and maxima as integers.
[[nodiscard]] value_class accumulated_class(reduction reducer, value_class type);
/// `into` with `value` taken in, for the reductions that keep one value; `type` is the accumulator's C++ type.
[[nodiscard]] std::string accumulate(reduction reducer, value_class of, const std::string& type, const std::string& into,
                                     const std::string& value);

}  // namespace kernsmith::agents::simt
