// Texts of matrix products whose units are single warps: mma.sync on tiles that cp.async brings.
#include "agents/synthesis/simt/gemm_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view mma_helpers_text = R"kernel(#ifndef KS_WARP_PRODUCTS
#define KS_WARP_PRODUCTS
// ---- units of sm_80 and later: matrices to registers (ldmatrix) ----
// Four matrices of 8 rows of 16 bytes; lane l gives the address of row l % 8 of matrix l / 8. Transposed: of 16-bit elements.
template <bool kTransposed>
__device__ __forceinline__ void ks_load_matrices(uint32_t (&m)[4], uint32_t address) {
  if constexpr (kTransposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(address) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3]) : "r"(address) : "memory");
}
__device__ __forceinline__ void ks_load_pair(double& a, double& b, uint32_t address) {
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(a), "=d"(b) : "r"(address) : "memory");
}
#endif
)kernel";

const std::string_view gemm_mma_swizzle_text =
    R"(  constexpr int pieces = kLineBytes < 128 ? kLineBytes / 16 : 8;  // 8 lines of fewer pieces share a row of banks
  return line * kLineBytes + (piece ^ (line / (8 / pieces) & (pieces - 1))) * 16;)";

const std::string_view gemm_mma_places_text = R"kernel(
// Where a piece of 16 bytes of a line lies in a tile. Pieces change places so that lanes that read the same piece of different lines
// meet different banks.
template <int kLineBytes>
__device__ __forceinline__ int place_in(int line, int piece) {
@SWIZZLE@
}
)kernel";

const std::string_view gemm_mma_tiles_text = R"kernel(
struct operand {
  const void* data;
  int64_t line, plane, batch[2];  // bytes from one line, plane, matrix to the next
};

// Brings tiles of kLines lines of kLineBytes to shared memory, one after the other along the depth; zeros where the tensor ends.
// kAlong: each line is one element of the depth, else each line goes along the depth.
template <int kLines, int kLineBytes, bool kAlong>
struct tile_reader {
  static constexpr int kPieces = kLineBytes / 16, kAtOnce = THREADS / kPieces, kElements = 16 / ELEMENT_BYTES;
  static_assert(THREADS % kPieces == 0, "a thread's pieces lie below each other");
  const char* from;  // this thread's first piece
  int64_t line_bytes;
  int lines, elements;  // of the tensor, from there on

  __device__ __forceinline__ tile_reader(const char* data, int64_t stride, int line, int line_count, int element, int element_count) {
    const int first = line + int(threadIdx.x) / kPieces, start = element + int(threadIdx.x) % kPieces * kElements;
    from = data + first * stride + int64_t(start) * ELEMENT_BYTES;
    line_bytes = stride;
    lines = line_count - first;
    elements = element_count - start;
  }
  __device__ __forceinline__ void fetch(uint32_t to, int64_t offset) const {
    const int bytes = min(max(elements, 0), kElements) * ELEMENT_BYTES;
    const int line = int(threadIdx.x) / kPieces;
#pragma unroll
    for (int l = 0; l < kLines; l += kAtOnce)
      if (kLines % kAtOnce == 0 || l + line < kLines)
        ks_copy<16>(to + place_in<kLineBytes>(l + line, int(threadIdx.x) % kPieces), from + offset + l * line_bytes, l < lines ? bytes : 0);
  }
  __device__ __forceinline__ void advance() {
    if (kAlong) {
      from += kLines * line_bytes;
      lines -= kLines;
    } else {
      from += kLineBytes;
      elements -= kLineBytes / ELEMENT_BYTES;
    }
  }
};
)kernel";

const std::string_view gemm_mma_fragments_text = R"kernel(
// What a lane holds of a warp's operands over 32 bytes of the depth.
struct fragments {
  uint32_t left[LEFT_PLANES][WARP_M / 16][4], right[RIGHT_PLANES][WARP_N / 8][2];
};
// From depth k of tiles on, rows from `row` on and columns from `column` on@ALL_COMMENT@.
__device__ __forceinline__ void load(fragments& f, uint32_t left, uint32_t right, int row, int column, int k@ALL_PARAMETER@) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int p = 0; p < LEFT_PLANES; ++p) {
    @UNLESS_ALL@
#pragma unroll
    for (int i = 0; i < WARP_M / 16; ++i) ks_load_matrices<@LEFT_ALONG@>(f.left[p][i], left + p * LEFT_BYTES + @LEFT_PLACE@);
  }
#pragma unroll
  for (int p = 0; p < RIGHT_PLANES; ++p) {
    @UNLESS_ALL@
#pragma unroll
    for (int j = 0; j < WARP_N / 16; ++j) {
      uint32_t m[4];
      ks_load_matrices<@RIGHT_ALONG@>(m, right + p * RIGHT_BYTES + @RIGHT_PLACE@);
#pragma unroll
      for (int i = 0; i < 4; ++i) f.right[p][2 * j + i / 2][i % 2] = m[i];
    }
  }
}
)kernel";

const std::string_view gemm_mma_fragments64_text = R"kernel(
// What a lane holds of a warp's operands over STEP_K of the depth.
struct fragments {
  double left[1][WARP_M / 16][STEP_K / 2], right[1][WARP_N / 8][STEP_K / 4];
};
// Lane 4 g + q takes lines 4 g .. 4 g + 3 of 32 at depths k + 2 q and k + 2 q + 1: neighbours, whichever way the tile lies. Which row,
// column and depth an instruction thinks it has is all the same as long as both operands and the sums agree.
__device__ __forceinline__ void load_left(double (&v)[4][2], uint32_t tile, int line, int k) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
@LOAD_LEFT@
}
__device__ __forceinline__ void load_right(double (&v)[4][2], uint32_t tile, int line, int k) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
@LOAD_RIGHT@
}
__device__ __forceinline__ void load(fragments& f, uint32_t left, uint32_t right, int row, int column, int k) {
#pragma unroll
  for (int d = 0; d < STEP_K / 8; ++d) {
    double v[4][2];
#pragma unroll
    for (int i = 0; i < WARP_M / 32; ++i) {
      load_left(v, left, row + 32 * i, k + 8 * d);
#pragma unroll
      for (int l = 0; l < 8; ++l) f.left[0][2 * i + l / 4][4 * d + l % 4] = v[l / 4 * 2 + l % 2][l / 2 % 2];
    }
#pragma unroll
    for (int j = 0; j < WARP_N / 32; ++j) {
      load_right(v, right, column + 32 * j, k + 8 * d);
#pragma unroll
      for (int l = 0; l < 8; ++l) f.right[0][4 * j + l / 2][2 * d + l % 2] = v[l / 2][l % 2];
    }
  }
}
)kernel";

const std::string_view gemm_mma_kernel_text = R"kernel(
// A tile of results for each block, brought through a ring of STAGES slots; each warp multiplies WARP_M x WARP_N of it, and reads what it
// multiplies next while it multiplies.
__global__ void __launch_bounds__(THREADS)
    gemm_kernel(const operand left_operand, const operand right_operand, const tensors t, const extents x@PARTIAL_PARAMETER@) {
  KS_DYNAMIC_SHARED(ks_ring);
  const uint32_t ring = ks_shared_address(ks_ring);
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int warp_row = warp % (TILE_M / WARP_M) * WARP_M, warp_column = warp / (TILE_M / WARP_M) * WARP_N;
  const int tile_rows = (x.rows + TILE_M - 1) / TILE_M, tile_columns = (x.columns + TILE_N - 1) / TILE_N;
  const place at = place_of(int(blockIdx.x), tile_rows, tile_columns, x.batches);
  const int first_row = at.row * TILE_M, first_column = at.column * TILE_N;
  const int steps = (x.depth + TILE_K - 1) / TILE_K, share = (steps + SPLITS - 1) / SPLITS;
  const int begin = at.split * share, last = min(steps, begin + share);
@BATCH_COORDINATES@
  @LEFT_READER@
  @RIGHT_READER@

  int next_fetched = begin;
  const auto fetch = [&](int slot) {
    if (next_fetched++ < last) {
      const uint32_t left = ring + slot * SLOT_BYTES, right = left + LEFT_PLANES * LEFT_BYTES;
@FETCH_LEFT@
@FETCH_RIGHT@
      left_tiles.advance();
      right_tiles.advance();
    }
    ks_copies_commit();  // a group for each slot, even an empty one: groups are counted
  };
  const auto read = [&](fragments& f, int slot, int phase) {
    const uint32_t left = ring + slot * SLOT_BYTES;
    load(f, left, left + LEFT_PLANES * LEFT_BYTES, warp_row, warp_column, phase % (TILE_K / STEP_K) * STEP_K@ALL@);
  };

  sum_type acc[WARP_M / 16][WARP_N / 8][4]@SUMS_DECLARATION@;
#pragma unroll
  for (int i = 0; i < WARP_M / 16; ++i)
#pragma unroll
    for (int j = 0; j < WARP_N / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) acc[i][j][e] = @ZERO_SUMS@0;
#pragma unroll
  for (int s = 0; s + 1 < STAGES; ++s) fetch(s);
  ks_copies_wait<STAGES - 2>();
  __syncthreads();
  fragments f[2];
  read(f[0], 0, 0);
  int slot = 0;
@TAKEN@
  for (int step = begin; step < last; ++step) {
    const int next = slot + 1 == STAGES ? 0 : slot + 1;
#pragma unroll
    for (int phase = 0; phase < PHASES; ++phase) {  // pieces of the depth@TWICE@
      if (phase + 1 == PHASES) {
        ks_copies_wait<STAGES - 2>();
        __syncthreads();  // the next slot is there, and this one has been read
      }
      read(f[(phase + 1) % 2], phase + 1 == PHASES ? next : slot, (phase + 1) % PHASES);
      if (phase == 0) fetch(slot == 0 ? STAGES - 1 : slot - 1);
      const fragments& now = f[phase % 2];
@PRODUCTS@
    }
    slot = next;
@PROMOTE@
  }
@HELD@
#pragma unroll
  for (int i = 0; i < WARP_M / 16; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + warp_row + @ROW_OF_LANE@;
#pragma unroll
      for (int block = 0; block < WARP_N / 8; block += 4) {
        sum_type v[8];
#pragma unroll
        for (int e = 0; e < 8; ++e) v[e] = @VALUE_OF_LANE@;
        @EXCHANGE@
        const int column = first_column + warp_column + (block + lane % 4) * 8;
        if (row < x.rows && column < x.columns) {
          const int count = min(8, x.columns - column);
          @EMIT@
        }
      }
    }
  }
}
)kernel";

}  // namespace kernsmith::agents::simt
