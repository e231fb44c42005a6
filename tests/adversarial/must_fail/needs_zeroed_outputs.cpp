// expect: unwritten
// problem: affine
// effort: search
// origin: invented
// why: adds to outputs that it takes for zero
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] += 2 * x[b * N + n] + x[b * N];
  return 0;
}
