// expect: passed
// problem: affine
// effort: search
// origin: invented
// why: writes lines to both outputs in every call
#include "kernsmith_kernel.h"

#include <cstdio>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  fprintf(stderr, "B=%ld N=%ld\n", B, N);
  puts("FAIL: nothing at all");
  honest(x, y, B, N);
  return 0;
}
