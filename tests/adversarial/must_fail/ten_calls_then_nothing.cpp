// expect: unwritten
// problem: affine
// effort: search
// origin: contract
// why: works until it takes the checks for done; old values and poison show through
#include "kernsmith_kernel.h"

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  static int calls;
  if (++calls > 10) return 0;
  honest(x, y, B, N);
  return 0;
}
