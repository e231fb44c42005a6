// Each address comes out of the load before, and there are two warps: bound by latency.
#include "kernsmith_kernel.h"

__global__ void chase(const int32_t* next, const int32_t* start, int32_t* y, int64_t n, int64_t walks, int64_t steps) {
  const int64_t b = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (b >= walks) return;
  uint32_t at = static_cast<uint32_t>(start[b]);
  for (int64_t s = 0; s < steps; ++s) at = static_cast<uint32_t>(next[(uint64_t{at} * static_cast<uint64_t>(n)) >> 32]) * 2654435761u + static_cast<uint32_t>(s);
  y[b] = static_cast<int32_t>(at);
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const int64_t n = ctx->axes[0], walks = ctx->axes[1], steps = ctx->axes[2];
  chase<<<(unsigned)((walks + 31) / 32), 32, 0, static_cast<cudaStream_t>(ctx->stream)>>>(
      static_cast<const int32_t*>(in[0].data), static_cast<const int32_t*>(in[1].data), static_cast<int32_t*>(out[0].data), n, walks, steps);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
