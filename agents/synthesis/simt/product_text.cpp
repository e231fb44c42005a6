// Texts of products on the ordinary arithmetic units.
#include "agents/synthesis/simt/product_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view product_tiles_text = R"kernel(#ifndef KS_PRODUCT_TILES
#define KS_PRODUCT_TILES
// ---- tiles of operands in shared memory: kDepth lines of kTile elements ----
// A thread's share of bringing such tiles, one after the other along the depth. A piece is kUnit elements that are neighbours in memory:
// they lie along a line, or, kAlongDepth, one in each of kUnit lines. I: of positions.
template <class T, class I, int kThreads, int kDepth, int kTile, int kUnit, bool kAlongDepth>
struct ks_tile_share {
  // Threads side by side read neighbours, along the depth only as many as need not write to the same banks of shared memory.
  static constexpr int kFast = (kAlongDepth ? kDepth : kTile) / kUnit, kSlow = kAlongDepth ? kTile : kDepth;
  static constexpr int kMost = kAlongDepth ? (kUnit > 1 ? 2 : 8) : kThreads, kTogether = kFast < kMost ? kFast : kMost;
  static constexpr int kSlowTogether = kThreads / kTogether;
  static constexpr int kPieces = kFast / kTogether * ((kSlow + kSlowTogether - 1) / kSlowTogether);

  const T* from;                  // the first piece
  int64_t own_step, depth_step;   // elements of the tensor to the neighbour along the result, along the depth
  int own, level;                 // where the first piece stands in a tile
  I own_left, depth_left;         // elements of the tensor from there on

  // `start`: the tile's first element, from which on the tensor has so many.
  __device__ __forceinline__ ks_tile_share(const T* start, int64_t own_stride, int64_t depth_stride, I own_count, I depth_count)
      : own_step(own_stride), depth_step(depth_stride) {
    const int fast = int(threadIdx.x) % kTogether, slow = int(threadIdx.x) / kTogether;
    own = kAlongDepth ? slow : fast * kUnit;
    level = kAlongDepth ? fast * kUnit : slow;
    from = start + own * own_step + level * depth_step;
    own_left = own_count - I(own);
    depth_left = depth_count - I(level);
  }
  __device__ __forceinline__ void advance() {
    from += kDepth * depth_step;
    depth_left -= kDepth;
  }
  // visit(number of the piece, its place in the tile along the result and along the depth, its address, how many elements exist)
  template <class F>
  __device__ __forceinline__ void each(F visit) const {
#pragma unroll
    for (int s = 0; s < kSlow; s += kSlowTogether) {
      if (kSlowTogether > kSlow && (kAlongDepth ? own : level) >= kSlow) continue;  // more threads than pieces
#pragma unroll
      for (int f = 0; f < kFast; f += kTogether) {
        const int own_at = kAlongDepth ? s : f * kUnit, level_at = kAlongDepth ? f * kUnit : s;
        const I count = kAlongDepth ? depth_left - I(level_at) : own_left - I(own_at);
        const bool outside = kAlongDepth ? I(own_at) >= own_left : I(level_at) >= depth_left;
        visit(s / kSlowTogether * (kFast / kTogether) + f / kTogether, own + own_at, level + level_at,
              from + own_at * own_step + level_at * depth_step, outside || count < 0 ? 0 : count < I(kUnit) ? int(count) : kUnit);
      }
    }
  }
};

// Elements of a line to registers: 4 neighbours, and again 4 each kApart further on.
template <int kApart, class T, int kOwn>
__device__ __forceinline__ void ks_read_line(T (&own)[kOwn], const T* line) {
#pragma unroll
  for (int i = 0; i < kOwn; i += 4) {
    const ks_pack<T, 4> four = ks_load<4, false>(line + i / 4 * kApart);
#pragma unroll
    for (int l = 0; l < 4; ++l) own[i + l] = four.at[l];
  }
}
#endif
)kernel";

const std::string_view product_kernel_text = R"kernel(
// A tile of results for each block, kRows x kColumns of them in a thread's registers, in chunks of 4 x 4. Operands come through a ring of
// kSlots slots, kDepth of the summed index at a time@HOW@; each thread reads what it takes in next while it takes in.
@STATEMENTS@
template <class ks_ix@ALIGNED_PARAMETER@>
__global__ void __launch_bounds__(@BOUNDS@) @GROUP@_product_kernel(@PARAMETERS@@PARTIAL_PARAMETER@) {
  constexpr int kTileRows = @TILE_ROWS@, kTileColumns = @TILE_COLUMNS@, kRows = @ROWS@, kColumns = @COLUMNS@;
  constexpr int kDepth = @DEPTH@, kSlots = @SLOTS@, kBand = @BAND@, kSplits = @SPLITS@;
  constexpr int kWarpRows = 4 * kRows, kWarpColumns = 8 * kColumns, kWarpsAcross = kTileColumns / kWarpColumns;
  constexpr int kThreads = 32 * (kTileRows / kWarpRows) * kWarpsAcross;
  KS_DYNAMIC_SHARED(ring);
@TILES@
  // Lanes stand 4 below and 8 beside each other: neighbours below each other, pairs of them beside each other. Half a warp then reads 128
  // different bytes at most, and every 16 of them by neighbours.
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int first_row = warp / kWarpsAcross * kWarpRows + (lane / 16 * 2 + lane % 2) * 4;
  const int first_column = warp % kWarpsAcross * kWarpColumns + lane % 16 / 2 * 4;

  // Which tile: bands of kBand tile rows, column by column, so that blocks that run together share operands in L2.
  const ks_ix tiles_down = (@ROW_EXTENT@ + kTileRows - 1) / kTileRows, tiles_across = (@COLUMN_EXTENT@ + kTileColumns - 1) / kTileColumns;
  [[maybe_unused]] const ks_ix matrix = ks_ix(blockIdx.x) / (tiles_down * tiles_across);  // and part of the depth
  const ks_ix tile = ks_ix(blockIdx.x) % (tiles_down * tiles_across);
  const ks_ix band = tile / (kBand * tiles_across), in_band = tile % (kBand * tiles_across);
  const ks_ix height = tiles_down - band * kBand < kBand ? tiles_down - band * kBand : ks_ix(kBand);
  const ks_ix @M@_start = (band * kBand + in_band % height) * kTileRows, @N@_start = in_band / height * kTileColumns;
@BATCH@
  const ks_ix steps = (@DEPTH_EXTENT@ + kDepth - 1) / kDepth;
@PART@
@SHARES@
@WAY@

  @SUM_TYPE@ total[kRows][kColumns];
#pragma unroll
  for (int down = 0; down < kRows; ++down)
#pragma unroll
    for (int across = 0; across < kColumns; ++across) total[down][across] = @INITIAL@;
@OWN@
  const auto read = [&](int to, int slot, int level) {
@READS@
  };
  const auto take_in = [&](int own, [[maybe_unused]] ks_ix @K@) {
#pragma unroll
    for (int down = 0; down < kRows; ++down) {
#pragma unroll
      for (int place = 0; place < kColumns; ++place) {
        const int across = down % 2 == 0 ? place : kColumns - 1 - place;  // there and back: the last operand is at hand for the next row
        [[maybe_unused]] const ks_ix @M@ = @M@_start + first_row + down / 4 * 16 + down % 4, @N@ = @N@_start + first_column + across / 4 * 32 + across % 4;
@TAKE_IN@
      }
    }
  };

@BEGIN@
  read(0, 0, 0);
  int slot = 0;
  const ks_ix full_steps = @END_OF_PART@ / kDepth;  // only the last slot may be filled in part
#pragma unroll 1
  for (ks_ix step = first_step; step < full_steps; ++step) {
    const int next = slot + 1 == kSlots ? 0 : slot + 1;
#pragma unroll
    for (int level = 0; level < kDepth; ++level) {
      if (level + 1 == kDepth) {
@NEXT_IS_THERE@
        __syncthreads();  // the next slot is there, and this one has been read
      }
      read((level + 1) % 2, level + 1 == kDepth ? next : slot, (level + 1) % kDepth);
      if (level == 0) @FETCH_NEXT@
      take_in(level % 2, step * kDepth + level);
    }
    slot = next;
  }
#pragma unroll 1
  for (ks_ix @K@ = (first_step > full_steps ? first_step : full_steps) * kDepth; @K@ < @END_OF_PART@; ++@K@) {
    read(0, slot, int(@K@ % kDepth));
    take_in(0, @K@);
  }

#pragma unroll
  for (int down = 0; down < kRows; ++down) {
    const ks_ix @M@ = @M@_start + first_row + down / 4 * 16 + down % 4;
#pragma unroll
    for (int across = 0; across < kColumns; across += 4) {
      const ks_ix @N@ = @N@_start + first_column + across / 4 * 32;
      if (@M@ >= @ROW_EXTENT@ || @N@ >= @COLUMN_EXTENT@) continue;
      const @SUM_TYPE@ four[4] = {total[down][across], total[down][across + 1], total[down][across + 2], total[down][across + 3]};
      @EMIT@
    }
  }
}
)kernel";

const std::string_view product_copies_text = R"kernel(
  ks_ix fetched = first_step;
  const auto fetch = [&](int slot) {
    if (fetched < last_step) {
@COPIES@
    }
    ++fetched;
    ks_copies_commit();  // a group for each slot, even an empty one: groups are counted
  };
)kernel";

const std::string_view product_loads_text = R"kernel(
@NEXT@
  ks_ix fetched = first_step;
  const auto bring = [&] {
    if (fetched < last_step) {
@LOADS@
    }
    ++fetched;
  };
  const auto put = [&](int slot) {
@STORES@
  };
)kernel";

const std::string_view product_join_text = R"kernel(
// Merges what the kSplits parts of the depth gave, always in the same order, and finishes.
template <class ks_ix>
__global__ void __launch_bounds__(256) @GROUP@_join_kernel(@PARAMETERS@, const @SUM_TYPE@* partial) {
  constexpr int kSplits = @SPLITS@;
  const int64_t packs = (@COLUMN_EXTENT@ + 3) / 4, count = packs * @ROW_EXTENT@ * @BATCHES@;
  for (int64_t item = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; item < count; item += int64_t(gridDim.x) * blockDim.x) {
    const int64_t line = item / packs;
    const ks_ix @N@ = ks_ix(item % packs * 4), @M@ = ks_ix(line % @ROW_EXTENT@);
    [[maybe_unused]] const ks_ix matrix = ks_ix(line / @ROW_EXTENT@);
@BATCH@
    @SUM_TYPE@ four[4] = {@INITIAL@, @INITIAL@, @INITIAL@, @INITIAL@};
#pragma unroll
    for (int split = 0; split < kSplits; ++split) {
      const auto part = ks_fetch<4, ks_any, false>(partial + (split * (count / packs) + line) * @COLUMN_EXTENT@ + @N@, @N@, ks_ix(@COLUMN_EXTENT@));
#pragma unroll
      for (int l = 0; l < 4; ++l) @MERGE@
    }
    @FINISH@
  }
}
)kernel";

}  // namespace kernsmith::agents::simt
