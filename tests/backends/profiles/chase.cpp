// Each address comes out of the load before: bound by latency.
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const int32_t* next = static_cast<const int32_t*>(in[0].data);
  const int32_t* start = static_cast<const int32_t*>(in[1].data);
  int32_t* y = static_cast<int32_t*>(out[0].data);
  const int64_t n = ctx->axes[0], walks = ctx->axes[1], steps = ctx->axes[2];
#pragma omp parallel for
  for (int64_t b = 0; b < walks; ++b) {
    uint32_t at = static_cast<uint32_t>(start[b]);
    for (int64_t s = 0; s < steps; ++s)
      at = static_cast<uint32_t>(next[(uint64_t{at} * static_cast<uint64_t>(n)) >> 32]) * 2654435761u + static_cast<uint32_t>(s);
    y[b] = static_cast<int32_t>(at);
  }
  return 0;
}
