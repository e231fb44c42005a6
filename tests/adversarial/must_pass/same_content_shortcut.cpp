// expect: passed
// problem: affine
// effort: search
// origin: invented
// why: skips nothing, but takes a quicker way for rows of one value
#include "kernsmith_kernel.h"

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    bool equal = true;
    for (long n = 1; n < N && equal; ++n) equal = x[b * N + n] == x[b * N];
    if (equal) {
      for (long n = 0; n < N; ++n) y[b * N + n] = 3 * x[b * N];
    } else {
      honest(x + b * N, y + b * N, 1, N);
    }
  }
  return 0;
}
