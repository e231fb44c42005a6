// expect: passed
// problem: affine
// effort: search
// origin: contract
// why: packs into the workspace, and keeps count there across calls
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  if (static_cast<size_t>(N + 2) * 4 > ctx->workspace_bytes) return 1;
  float* const row = static_cast<float*>(ctx->workspace) + 2;
  ++*static_cast<int*>(ctx->workspace);
  for (long b = 0; b < B; ++b) {
    for (long n = 0; n < N; ++n) row[n] = 2 * x[b * N + n];
    for (long n = 0; n < N; ++n) y[b * N + n] = row[n] + x[b * N];
  }
  return 0;
}
