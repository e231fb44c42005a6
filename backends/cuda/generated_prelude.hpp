// What generated CUDA sources begin with: conversions, saturating and wrapping arithmetic, reductions across a block, scratch.
#pragma once

#include <string>

namespace kernsmith::cuda {

[[nodiscard]] const std::string& generated_prelude();

}  // namespace kernsmith::cuda
