// Source texts of matrix products on tensor cores. `@NAME@` marks what the emitter fills in (contraction_grammar_templates.hpp).
#pragma once

#include <string_view>

namespace kernsmith::agents::simt {

// Once per file:
extern const std::string_view shared_address_text;
extern const std::string_view tensor_core_helpers_text;  ///< units of sm_90a: barriers, copy engine, descriptors; needs the one above
extern const std::string_view async_copies_text;         ///< copies that go on in the background: sm_80 and later
extern const std::string_view mma_helpers_text;          ///< matrices of sm_80 and later; needs the two above
extern const std::string_view row_access_text;           ///< eight neighbouring elements of a row; once per file
extern const std::string_view gemm_order_text;           ///< which tile a block computes when
extern const std::string_view gemm_pack_text;            ///< an operand where the copy engine can read it
extern const std::string_view gemm_kernel_text;
extern const std::string_view gemm_producer_text;  ///< the warpgroup that fetches by the copy engine
// Flattened products:
extern const std::string_view gemm_gather_text;     ///< tiles by addresses of several indices
extern const std::string_view gemm_pack_flat_text;  ///< an operand with its contiguous depth innermost
extern const std::string_view gemm_unsplittable_flat_text;
extern const std::string_view gemm_sums_plain_text, gemm_sums_promoted_text;  ///< the loop over the depth
extern const std::string_view gemm_stream_text, gemm_fix_up_text;             ///< stream-K: stretches of work; sums of a tile's parts
extern const std::string_view gemm_splits_text;                               ///< sums of a split depth
extern const std::string_view gemm_unsplittable_text;                         ///< infinities and NaNs in emulation

// Products of warps.
extern const std::string_view gemm_mma_places_text, gemm_mma_swizzle_text;         ///< where pieces of tiles lie in shared memory
extern const std::string_view gemm_mma_tiles_text;                                 ///< how tiles get there
extern const std::string_view gemm_mma_fragments_text, gemm_mma_fragments64_text;  ///< from there to registers: 8 and 16 bits; f64
extern const std::string_view gemm_mma_kernel_text;

}  // namespace kernsmith::agents::simt
