// expect: crashed
// problem: affine
// effort: search
// origin: contract
// why: a constructor ends the process before anything was asked
#include "kernsmith_kernel.h"

#include <unistd.h>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

__attribute__((constructor)) static void at_load() {
  _exit(0);
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  honest(x, y, B, N);
  return 0;
}
