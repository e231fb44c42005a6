// What the analytical model prefers where single warps multiply (mma.sync), and which schedules fit.
#pragma once

#include <vector>

#include "agents/synthesis/simt/gemm_schedule.hpp"

namespace kernsmith::agents::simt {

/// "sm_90a" -> 90; 0 for what is no such name.
[[nodiscard]] int compute_capability(const simt_model& model);

/// Tiles of a block and of a warp that may be decided, as rows * 1000 + columns.
[[nodiscard]] std::vector<std::int64_t> mma_tiles(const gemm_plan& plan);
[[nodiscard]] std::vector<std::int64_t> mma_warp_tiles(const gemm_plan& plan);
/// f64: instructions that the device has (gemm_schedule::instruction).
[[nodiscard]] std::vector<std::int64_t> mma_instructions(const simt_model& model);

/// The schedule that the model takes for the fastest.
[[nodiscard]] gemm_schedule prefer_mma(const gemm_plan& plan, const simt_model& model, dtype lowest);
/// Makes registers, threads and shared memory suffice; what does already stays as it is.
void fit_mma(const gemm_plan& plan, const simt_model& model, gemm_schedule& s);
/// Estimated nanoseconds.
[[nodiscard]] double mma_cost(const gemm_plan& plan, const gemm_sizes& size, const gemm_schedule& s, const simt_model& model);

}  // namespace kernsmith::agents::simt
