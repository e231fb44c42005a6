// Products as Triton: a program computes a tile of the result by tl.dot, step by step along what is summed over.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/simt/simt_program.hpp"
#include "agents/synthesis/triton/triton_emission.hpp"

namespace kernsmith::agents::triton {

/// One sum of products of two sides, and elementwise statements around it. Indices are classes of the row program.
struct product {
  int sum = -1;                          ///< statement
  std::vector<int> left, right;          ///< factors: nodes of that statement
  std::vector<int> batch, down, across;  ///< free indices of both sides, of the left one, of the right one
  std::vector<int> along;                ///< what is summed over
  std::optional<dtype> raw;              ///< both sides are loads of this type, which tl.dot takes as they are
  bool wide = false;                     ///< reals in double
};

/// nullopt when the program isn't one that tl.dot computes.
[[nodiscard]] std::optional<product> find_product(const simt::simt_program& p);

struct product_choice {
  std::int64_t block_m = 64, block_n = 64, block_k = 32, band = 8, warps = 4, stages = 3;
};

/// The kernel and the host function "<group>_group".
[[nodiscard]] std::string write_product(const simt::simt_program& p, const product& found, const tensor_ir& host,
                                        const product_choice& choice);

}  // namespace kernsmith::agents::triton
