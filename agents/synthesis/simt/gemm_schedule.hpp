// The schedule decisions of a matrix product on tensor cores and what the analytical model prefers. Two families of sources: warpgroups
// multiply (WGMMA, tiles by the copy engine: sm_90a) or single warps do (mma.sync, tiles by cp.async: sm_80 and later).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agents/synthesis/simt/gemm_plan.hpp"

namespace kernsmith::agents::simt {

struct gemm_schedule {
  int tile_m = 128, tile_n = 256, consumers = 2;  ///< of one block; each consumer is a warpgroup with tile_m / consumers rows
  bool in_turn = false;                           ///< each of two consumers has tiles of its own: one finishes while the other multiplies
  int tile_k = 64;                                ///< elements of the depth in one slot of the ring
  int stages = 4;                                 ///< slots of the ring
  int cluster = 1;                                ///< blocks below each other that share the right operand's tiles
  int band = 8;                                   ///< tile rows (of clusters) walked together
  int splits = 1;                                 ///< parts of the depth that different blocks sum
  bool stream = false;                            ///< stream-K: blocks begin and end within tiles
  int promote = 0;                                ///< tiles of the depth that the tensor cores sum up on their own; 0: all
  int warp_m = 0, warp_n = 0;                     ///< of one warp, when single warps are the units that multiply (mma.sync); else 0
  int instruction = 804;                          ///< warps, f64: rows * 100 + depth of one instruction
  int order = 0;                                  ///< products of planes i and j are taken when i + j is no more than this

  [[nodiscard]] bool by_warps() const { return warp_m > 0; }
  /// Warps: of the depth, what is held in registers at a time.
  [[nodiscard]] int step_k(const gemm_plan& plan) const;
  [[nodiscard]] int left_planes(const gemm_plan& plan) const;
  [[nodiscard]] int right_planes(const gemm_plan& plan) const;
  /// Planes (left, right) to multiply, the smallest products first.
  [[nodiscard]] std::vector<std::pair<int, int>> products(const gemm_plan& plan) const;
  [[nodiscard]] std::int64_t slot_bytes(const gemm_plan& plan) const;
  /// Pieces of 64 rows that a consumer multiplies at a time.
  [[nodiscard]] int pieces() const { return tile_m / 64 / (in_turn ? 1 : consumers); }
  /// Accumulators of one thread.
  [[nodiscard]] int accumulators() const;
};

/// Orders of products that are precise enough, the cheapest first: all that f32 needs, fewer where the problem allows a lower precision.
[[nodiscard]] std::vector<int> precise_orders(const gemm_plan& plan, dtype lowest);

/// Which units of a device multiply such elements.
struct gemm_units {
  bool warpgroups = false, warps = false;
};
[[nodiscard]] gemm_units units_of(const gemm_plan& plan, const simt_model& model);

[[nodiscard]] std::vector<decision> gemm_decisions(const gemm_plan& plan, const std::string& group, const simt_model& model, dtype lowest);
/// How long the preferred schedule takes, launches and the splitting of operands into planes included: nanoseconds.
[[nodiscard]] double preferred_gemm_cost(const gemm_plan& plan, const simt_model& model, dtype lowest);
[[nodiscard]] gemm_schedule read_gemm_schedule(const gemm_plan& plan, const std::string& group, const simt_model& model, dtype lowest,
                                               const assignment& chosen);
/// See group_grammar::normalise.
void normalise_gemm(const gemm_plan& plan, const std::string& group, const simt_model& model, dtype lowest, assignment& chosen);

}  // namespace kernsmith::agents::simt
