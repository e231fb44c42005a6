// The schedule decisions of a product on the ordinary arithmetic units and what the analytical model prefers.
#pragma once

#include <string>
#include <vector>

#include "agents/synthesis/simt/product_plan.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"

namespace kernsmith::agents::simt {

/// Lanes of a warp stand so many below and beside each other.
inline constexpr int lanes_down = 4, lanes_across = 8;
/// Neighbouring elements that a thread reads from shared memory and writes to results at once.
inline constexpr int product_chunk = 4;

struct product_schedule {
  int tile_m = 128, tile_n = 128;  ///< results of a block
  int own_m = 8, own_n = 8;        ///< of those, of one thread
  int depth = 8;                   ///< elements of the summed index in one slot of the ring
  int slots = 3;                   ///< of the ring in shared memory
  bool copies = true;              ///< tiles come by asynchronous copies, else through registers
  int band = 8;                    ///< tile rows walked together
  int splits = 1;                  ///< parts of the depth that different blocks reduce

  [[nodiscard]] int warps_down() const { return tile_m / (lanes_down * own_m); }
  [[nodiscard]] int warps_across() const { return tile_n / (lanes_across * own_n); }
  [[nodiscard]] int threads() const { return 32 * warps_down() * warps_across(); }
  /// Elements that a tile's line takes in shared memory: operands that lie along the depth are turned round, and meet other banks by the
  /// pad.
  [[nodiscard]] int line(const product_tile& t) const { return (t.left ? tile_m : tile_n) + (t.along_depth ? product_chunk : 0); }
  [[nodiscard]] std::int64_t shared_bytes(const product_plan& plan) const;
  /// Blocks that a multiprocessor holds at a time, by registers, shared memory and threads.
  [[nodiscard]] int resident(const product_plan& plan, const simt_model& model) const;
};

/// Names start with `prefix`.
[[nodiscard]] std::vector<decision> product_decisions(const product_plan& plan, const std::string& prefix, const simt_model& model);
[[nodiscard]] product_schedule read_product_schedule(const product_plan& plan, const std::string& prefix, const simt_model& model,
                                                     const assignment& chosen);
/// See group_grammar::normalise.
void normalise_product(const product_plan& plan, const std::string& prefix, const simt_model& model, assignment& chosen);
/// How long the model thinks it takes, in nanoseconds.
[[nodiscard]] double product_cost(const product_plan& plan, const product_schedule& schedule, const simt_model& model);
/// The schedule that the model takes for the fastest.
[[nodiscard]] product_schedule prefer_product(const product_plan& plan, const simt_model& model);

}  // namespace kernsmith::agents::simt
