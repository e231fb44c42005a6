// Texts of flattened matrix products: operands gathered by addresses of several indices.
#include "agents/synthesis/simt/gemm_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view gemm_gather_text = R"kernel(
// Brings tiles of the @SIDE@ operand to shared memory, one after the other along the depth; zeros where there is nothing. A line of it is
// (@LINES@), the depth (@DEPTHS@) with the last contiguous: all that changes from tile to tile is `depth`.
struct @SIDE@_reader {
  static constexpr int kPieces = ROW_BYTES / 16, kAtOnce = @THREADS@ / kPieces, kLines = (@TILE@ + kAtOnce - 1) / kAtOnce;
  static_assert(@THREADS@ % kPieces == 0 && kLines <= 32, "a thread's pieces lie below each other");
  const operand& from;
  const char* data;
  int inner_count@EXTENTS_MEMBERS@;
  int line[kLines], depth, inner@COUNTERS@;  // positions count pieces of 16 bytes
@PRESENT_MEMBER@

  __device__ __forceinline__ @SIDE@_reader(const operand& o, const tensors& t, const char* matrix, int first, int count, int begin)
      : from(o), data(matrix), inner_count(@INNER_COUNT@)@EXTENTS_INIT@@PRESENT_INIT@ {
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      const int in_tile = l * kAtOnce + int(threadIdx.x) / kPieces, at = min(first + in_tile, count - 1);
@LINE_INDICES@
      line[l] = int(@LINE_POSITION@);
      const bool there = in_tile < @TILE@ && first + in_tile < count@IN_RUN@;
@PRESENT_SET@
    }
@COUNTERS_INIT@
    depth = inner@DEPTH_POSITION@;
  }
  __device__ __forceinline__ void fetch(uint32_t to, int64_t plane) const {
    const bool live = @LIVE@;
@TAP@
    const char* const at = data + plane + int64_t(depth) * 16;
#pragma unroll
    for (int l = 0; l < kLines; ++l) {
      const int in_tile = l * kAtOnce + int(threadIdx.x) / kPieces;
      if (@TILE@ % kAtOnce == 0 || in_tile < @TILE@)
        ks_copy<16>(to + place_in<ROW_BYTES>(in_tile, int(threadIdx.x) % kPieces), at + int64_t(line[l]) * 16,
                  live && (@PRESENT@ & 1) ? 16 : 0);
    }
  }
  __device__ __forceinline__ void advance() {
    inner += kPieces;
    depth += kPieces;
@CARRY@
  }
};
)kernel";

const std::string_view gemm_pack_flat_text = R"kernel(
// Evaluates the @SIDE@ operand into [@PLANE_WORD@@PACKED_SHAPE@] of @ELEMENT_NAME@, rows of whole 16 bytes, so that they can be
// copied from there.@PLANES_COMMENT@
__global__ void __launch_bounds__(256) pack_@SIDE@_kernel(const tensors t, void* packed, int64_t stride, int64_t total@UNUSUAL_PARAMETER@) {
  const unsigned chunks = unsigned(stride / 8);
  for (int64_t work = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; work < total; work += int64_t(gridDim.x) * blockDim.x) {
@WALK@
@INDICES@
    const int count = int(min(int64_t(8), int64_t(@INNER_EXTENT@) - first));
@READS@
    uint32_t words[@PLANES@][@WORDS@];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
@INNER_INDICES@
      const @VALUE_TYPE@ x = e < count ? @VALUE@ : 0;
@SPLIT@
    }
#pragma unroll
    for (int p = 0; p < @PLANES@; ++p)
      @STORE@
  }
}
)kernel";

const std::string_view gemm_unsplittable_flat_text = R"kernel(
// Infinities, NaNs and the largest numbers don't split into planes: where an operand holds one, all is computed anew, plainly.
__global__ void __launch_bounds__(256) plain_kernel(const tensors t, const extents x, const int* unusual) {
  if (*unusual == 0) return;
  const int chunks = (x.columns + 7) / 8;
  const int64_t total = int64_t(x.batches) * x.rows * chunks;
  for (int64_t item = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; item < total; item += int64_t(gridDim.x) * blockDim.x) {
    const int first = int(item % chunks) * 8;
    const int64_t row_of_all = item / chunks;
    const int count = min(8, x.columns - first), row = int(row_of_all % x.rows);
    const int64_t batch = row_of_all / x.rows;
@BATCH_INDICES@
@ROW_INDICES@
    float v[8] = {};
@DEPTH_LOOPS@ {
      const float left = @LEFT_VALUE@;
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        if (e >= count) continue;
@COLUMN_INDICES@
        v[e] = fmaf(left, @RIGHT_VALUE@, v[e]);
      }
    }
    finish(t, batch, row, first, count, v);
  }
}
)kernel";

}  // namespace kernsmith::agents::simt
