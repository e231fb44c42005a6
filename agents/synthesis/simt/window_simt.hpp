// A window (pooling, depthwise convolution, a convolution over few channels) computed directly: each thread reads the patch of elements
// that its neighbouring outputs share into registers, once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/window_grammar_plan.hpp"

namespace kernsmith::agents::simt {

/// One dimension of what a thread keeps of a load.
struct patch_side {
  int variable = -1;                 ///< the free variable whose neighbours share it; -1: the load has no such dimension
  std::int64_t factor = 1;           ///< elements of the side from one value of the variable to the next
  std::map<int, std::int64_t> taps;  ///< bound variables that move along the side, and by how much
  std::int64_t reach = 1;            ///< elements that one output sees
  nest::polynomial step;             ///< elements of the tensor from one element of the side to the next
  nest::guard position;              ///< where taps start in the tensor's dimension; extent zero: the variable stands alone

  [[nodiscard]] std::int64_t length(std::int64_t outputs) const { return (outputs - 1) * factor + reach; }
};

struct window_patch {
  int node = -1;  ///< of the plan's program: the load
  patch_side down, across;
};

struct simt_window {
  nest::window_plan plan;
  int down = -1;            ///< free variable whose neighbours share elements beside those of the lane; -1: none
  std::vector<int> looped;  ///< bound variables outside of the patches
  std::vector<int> tapped;  ///< bound variables inside, of constant extents
  std::vector<window_patch> patches;
};

/// Nothing when the group is no window of real numbers.
[[nodiscard]] std::optional<simt_window> plan_simt_window(const tensor_ir& ir, const fusion_group& group);

struct window_choice {
  int down = 1, across = 1, threads = 256;  ///< neighbouring outputs of a thread; threads of a block
};
/// Registers of a thread that hold patches and results.
[[nodiscard]] std::int64_t window_registers(const simt_window& window, const window_choice& choice);

[[nodiscard]] emitted_group emit_simt_window(const simt_window& window, const window_choice& choice, const fusion_group& group,
                                             const std::string& decisions);

}  // namespace kernsmith::agents::simt
