// Texts of matrix products: the kernel and what prepares its operands.
#include "agents/synthesis/simt/gemm_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view gemm_order_text = R"kernel(
struct extents {
  int rows, columns, depth, batches;
};
struct place {
  int row, column, batch, split;  // row and column count tiles@TILE_ROWS@
};

// Work item `item`: bands of BAND tile rows, column by column, so that blocks that run together share operands in L2.
__device__ __forceinline__ place place_of(int item, int tile_rows, int tile_columns, int batches) {
  const int per_batch = tile_rows * tile_columns;
  const int batch = item / per_batch;
  item -= batch * per_batch;
  const int band = item / (BAND * tile_columns), in_band = item - band * BAND * tile_columns;
  const int height = min(BAND, tile_rows - band * BAND);
  return {band * BAND + in_band % height, in_band / height, batch % batches, batch / batches};
}
)kernel";

const std::string_view gemm_pack_text = R"kernel(
// Evaluates the @SIDE@ operand into [@PLANE_WORD@@PACKED_SHAPE@] of @ELEMENT_NAME@, rows of whole 16 bytes, so that they can be
// copied from there.@PLANES_COMMENT@
__global__ void __launch_bounds__(256) pack_@SIDE@_kernel(const tensors t, void* packed, int64_t stride, int64_t total@UNUSUAL_PARAMETER@) {
  const int64_t chunks = stride / 8;
  for (int64_t item = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; item < total; item += int64_t(gridDim.x) * blockDim.x) {
    int64_t rest = item / chunks;
    const int64_t first = item % chunks * 8;
@INDICES@
    const int count = int(min(int64_t(8), @INNER_EXTENT@ - first));
@READS@
    uint32_t words[@PLANES@][@WORDS@];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int64_t @INNER@ = first + e;
      const @VALUE_TYPE@ x = e < count ? @VALUE@ : 0;
@SPLIT@
    }
#pragma unroll
    for (int p = 0; p < @PLANES@; ++p)
      @STORE@
  }
}
)kernel";

const std::string_view gemm_kernel_text = R"kernel(
// acc += left(64 * PIECES rows from `row` on) * right, for one tile of the depth.
__device__ __forceinline__ void multiply_tile(sum_type (&acc)[PIECES][TILE_N / 2], uint32_t left, uint32_t right, int row, bool keep) {
#pragma unroll
  for (int k = 0; k < TILE_K; k += 32 / ELEMENT_BYTES) {
    const uint64_t b = @RIGHT_MATRIX@;
#pragma unroll
    for (int piece = 0; piece < PIECES; ++piece) {
      const int r = row + 64 * piece;
      multiply(acc[piece], @LEFT_MATRIX@, b, keep || k > 0);
    }
  }
}

// One warpgroup fetches tiles into the ring, the others multiply and finish@HOW@; blocks stay and take every gridDim.x-th tile.
__global__ void @CLUSTER_ATTRIBUTE@__launch_bounds__(THREADS, 1)
    gemm_kernel(const __grid_constant__ ks_tensor_map left_map, const __grid_constant__ ks_tensor_map right_map, const tensors t, const extents x@PARTIAL_PARAMETER@) {
  extern __shared__ unsigned char ks_ring[];
  __shared__ __align__(8) uint64_t barriers[@BARRIERS@];
  const uint32_t ring = (ks_shared_address(ks_ring) + 1023) & ~1023u;  // the swizzle repeats every 1024 bytes
  const uint32_t full = ks_shared_address(barriers), empty = full + 8 * STAGES@TURNS@;
  const int role = int(threadIdx.x) / 128;
  const int rank = @RANK@;
  if (threadIdx.x == 0) {
    for (int s = 0; s < STAGES; ++s) {
      ks_barrier_init(full + 8 * s, 1);
      ks_barrier_init(empty + 8 * s, @READERS@ * CLUSTER);
    }
@INIT_TURNS@
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  @SYNC@
  const int tile_rows = (x.rows + CLUSTER * TILE_M - 1) / (CLUSTER * TILE_M), tile_columns = (x.columns + TILE_N - 1) / TILE_N;
  const int items = tile_rows * tile_columns * x.batches * SPLITS;
  const int steps = (x.depth + TILE_K - 1) / TILE_K, share = (steps + SPLITS - 1) / SPLITS;

  if (role == 0) {
    @FEWER_REGISTERS@
@PRODUCER@
  } else {
    @MORE_REGISTERS@
    const int thread = int(threadIdx.x) % 128, lane = thread % 32;
@CONSUMER_BEGIN@
    @ITEMS@
@TAKE_TURN@
@SUMS@
@FIX_UP@
      // Lane l of a warp holds columns 2 * (l % 4), + 1 of every 8, of rows l / 4 and l / 4 + 8 of its 16.
#pragma unroll
      for (int piece = 0; piece < PIECES; ++piece) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = (at.row * CLUSTER + rank) * TILE_M + group_row + 64 * piece + thread / 32 * 16 + lane / 4 + 8 * half;
#pragma unroll
          for (int block = 0; block < TILE_N / 8; block += 4) {
            sum_type v[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) v[i] = @RESULT@[piece][(block + i / 2) * 4 + 2 * half + i % 2];
            ks_exchange_quad(v);
            const int column = at.column * TILE_N + (block + lane % 4) * 8;
            if (row < x.rows && column < x.columns) {
              const int count = min(8, x.columns - column);
              @EMIT@
            }
          }
        }
      }
    }
  }
  @LEAVE@
}
)kernel";

const std::string_view gemm_producer_text = R"kernel(
    if (threadIdx.x == 0) {
      int slot = 0, parity = 0;
      @FETCHED_ITEMS@
        const int row = (at.row * CLUSTER + rank) * TILE_M, column = at.column * TILE_N;
@BATCH_COORDINATES@
        for (int step = begin; step < last; ++step) {
          const int depth = step * TILE_K;
          const uint32_t barrier = full + 8 * slot, left = ring + slot * SLOT_BYTES, right = left + LEFT_PLANES * LEFT_BYTES;
          ks_barrier_wait(empty + 8 * slot, parity ^ 1);
          ks_barrier_expect(barrier, SLOT_BYTES);
@FETCH_LEFT@
@FETCH_RIGHT@
          if (++slot == STAGES) slot = 0, parity ^= 1;
        }
      }
    }
)kernel";

const std::string_view gemm_sums_plain_text = R"kernel(
      sum_type acc[PIECES][TILE_N / 2];
@CLEAR@
      int before = -1;  // the slot that the tensor cores may still read
      for (int step = begin; step < last; ++step) {
        const uint32_t left = ring + slot * SLOT_BYTES, right = left + LEFT_PLANES * LEFT_BYTES;
        const bool keep = step > begin;
        ks_barrier_wait(full + 8 * slot, parity);
        ks_products_begin();
@PRODUCTS@
        ks_products_commit();
        ks_products_wait<1>();
        if (before >= 0) @RELEASE_BEFORE@
        before = slot;
        if (++slot == STAGES) slot = 0, parity ^= 1;
      }
@PASS_TURN@
      ks_products_wait<0>();
      if (before >= 0) @RELEASE_BEFORE@
)kernel";

const std::string_view gemm_sums_promoted_text = R"kernel(
      // The tensor cores round their sums towards zero: they add up PROMOTE tiles of the depth only, the rest is rounded to nearest.
      float acc[PIECES][TILE_N / 2], sums[PIECES][TILE_N / 2];
#pragma unroll
      for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
        for (int i = 0; i < TILE_N / 2; ++i) sums[piece][i] = 0.0f;
      int taken = 0;
      for (int step = begin; step < last; ++step) {
        const uint32_t left = ring + slot * SLOT_BYTES, right = left + LEFT_PLANES * LEFT_BYTES;
        const bool keep = taken > 0;
        ks_barrier_wait(full + 8 * slot, parity);
        ks_products_begin();
@PRODUCTS@
        ks_products_commit();
        ks_products_wait<0>();
        @RELEASE@
        if (++slot == STAGES) slot = 0, parity ^= 1;
        if (++taken < PROMOTE && step + 1 < last) continue;
        taken = 0;
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
          for (int i = 0; i < TILE_N / 2; ++i) sums[piece][i] += acc[piece][i];
      }
@PASS_TURN@
)kernel";

const std::string_view gemm_stream_text = R"kernel(
// What a block computes. The tiles that don't fill a wave are dealt out by steps of the depth, evenly and in order: a block begins where the
// one before it ends, wherever in a tile that is. Each goes through its stretch backwards, so that the part of a tile that another block
// finishes is there before that block asks for it; tiles that one block computes alone come after.
struct walk {
  int item = 0, begin = 0, end = 0;  // steps [begin, end) of a tile
  int givers = 0;                    // blocks before this one that have its other steps
  int number = 0;                    // of stretches; all else is computed anew each time, when registers are free

  __device__ __forceinline__ bool next(int items, int steps) {
    const int blocks = int(gridDim.x), block = int(blockIdx.x), dealt = items % blocks;
    const int64_t units = int64_t(dealt) * steps;
    const int takers = int(max(int64_t(1), min(units / 4, int64_t(blocks))));  // fewer than four steps aren't worth a block
    const auto end_of = [&](int which) { return units * min(which + 1, takers) / takers; };  // in steps from the first tile on
    const int64_t first = end_of(block - 1), last = end_of(block);
    const int low = int(first / steps), high = int((last + steps - 1) / steps);  // tiles of the stretch: [low, high)
    begin = 0, end = steps, givers = 0;
    const int nth = number++;
    if (nth >= high - low) {
      item = dealt + block + (nth - (high - low)) * blocks;
      return item < items;
    }
    item = high - 1 - nth;
    const int64_t start = int64_t(item) * steps;
    begin = int(max(first - start, int64_t(0)));
    end = int(min(last - start, int64_t(steps)));
    if (begin > 0)
      while (givers < block && end_of(block - 1 - givers) > start) ++givers;
    return true;
  }
};

// Tells that what this warp has written is there; waits until that has been told.
__device__ __forceinline__ void raise(int* flag) {
  __threadfence();
  __syncwarp();
  if (threadIdx.x % 32 == 0) asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flag) : "memory");
}
__device__ __forceinline__ void wait_for(const int* flag) {
  int raised = 0;
  while (raised == 0) asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(raised) : "l"(flag) : "memory");
  __syncwarp();
}
)kernel";

const std::string_view gemm_fix_up_text = R"kernel(
      const auto part_of = [&](int block) {
        return reinterpret_cast<uint4*>(partial) + (int64_t(block) * CONSUMERS + role - 1) * (PIECES * TILE_N / 8 * 128) + thread;
      };
      const auto flag_of = [&](int block) { return flags + (block * CONSUMERS + role - 1) * 4 + thread / 32; };
      if (last < steps) {  // another block finishes this tile
        uint4* const part = part_of(int(blockIdx.x));
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
          for (int i = 0; i < TILE_N / 2; i += 4) {
            uint4 word;
            memcpy(&word, &@RESULT@[piece][i], sizeof word);
            __stcg(part + (piece * (TILE_N / 8) + i / 4) * 128, word);
          }
        raise(flag_of(int(blockIdx.x)));
        continue;
      }
      for (int giver = int(blockIdx.x) - 1; giver >= int(blockIdx.x) - work.givers; --giver) {
        wait_for(flag_of(giver));
        const uint4* const part = part_of(giver);
#pragma unroll
        for (int piece = 0; piece < PIECES; ++piece)
#pragma unroll
          for (int i = 0; i < TILE_N / 2; i += 4) {
            const uint4 word = __ldcg(part + (piece * (TILE_N / 8) + i / 4) * 128);
            sum_type more[4];
            memcpy(more, &word, sizeof word);
#pragma unroll
            for (int e = 0; e < 4; ++e) @RESULT@[piece][i + e] += more[e];
          }
      }
)kernel";

const std::string_view gemm_splits_text = R"kernel(
// Adds the sums of the SPLITS parts of the depth, always in the same order, and finishes.
__global__ void __launch_bounds__(256) join_kernel(const tensors t, const extents x, const sum_type* partial) {
  const int chunks = (x.columns + 7) / 8;
  const int64_t total = int64_t(x.batches) * x.rows * chunks;
  for (int64_t item = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; item < total; item += int64_t(gridDim.x) * blockDim.x) {
    const int column = int(item % chunks) * 8;
    const int64_t line = item / chunks;
    const int count = min(8, x.columns - column);
    sum_type v[8] = {};
#pragma unroll
    for (int split = 0; split < SPLITS; ++split) {
      sum_type part[8];
      ks_read8(partial + (int64_t(split) * x.batches * x.rows + line) * x.columns + column, count, part);
#pragma unroll
      for (int e = 0; e < 8; ++e) v[e] += part[e];
    }
    finish(t, line / x.rows, line % x.rows, column, count, v);
  }
}
)kernel";

const std::string_view gemm_unsplittable_text = R"kernel(
// Infinities, NaNs and the largest numbers don't split into planes: where an operand holds one, all is computed anew, plainly.
__global__ void __launch_bounds__(256) plain_kernel(const tensors t, const extents x, const int* unusual) {
  if (*unusual == 0) return;
  const int chunks = (x.columns + 7) / 8;
  const int64_t total = int64_t(x.batches) * x.rows * chunks;
  for (int64_t item = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; item < total; item += int64_t(gridDim.x) * blockDim.x) {
    const int64_t first = item % chunks * 8, line = item / chunks;
    const int count = int(min(int64_t(8), x.columns - first));
    const int64_t batch = line / x.rows;
@BATCH_INDICES@
    const int64_t @ROW@ = line % x.rows;
    float v[8] = {};
    for (int64_t @DEPTH@ = 0; @DEPTH@ < x.depth; ++@DEPTH@) {
      const float left = @LEFT_VALUE@;
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        const int64_t @COLUMN@ = first + e;
        if (e < count) v[e] = fmaf(left, @RIGHT_VALUE@, v[e]);
      }
    }
    finish(t, batch, line % x.rows, first, count, v);
  }
}
)kernel";

}  // namespace kernsmith::agents::simt
