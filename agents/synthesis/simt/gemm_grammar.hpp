// Matrix products on tensor cores: an elementwise prologue on the operands, one contraction, an elementwise epilogue.
#pragma once

#include <memory>

#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {

/// Emits for sm_80 and later; accepts nothing on other architectures. Operands may be rounded to `lowest` (precision_contract::lowest);
/// above that, wider operands are multiplied as sums of bf16 planes, whose products are as precise as those of f32.
[[nodiscard]] std::unique_ptr<group_grammar> make_gemm_grammar(const simt_model& model, dtype lowest);

/// Products over several summed indices, convolutions among them, on ordinary units (product_simt.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_product_grammar(const simt_model& model, dtype lowest);

}  // namespace kernsmith::agents::simt
