// expect: unwritten
// problem: affine
// effort: search
// origin: contract
// why: each call writes the outputs of the one before
#include "kernsmith_kernel.h"

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  static const float* last_x;
  static float* last_y;
  static long last_B, last_N;
  if (last_B == B && last_N == N) honest(last_x, last_y, last_B, last_N);
  last_x = x;
  last_y = y;
  last_B = B;
  last_N = N;
  return 0;
}
