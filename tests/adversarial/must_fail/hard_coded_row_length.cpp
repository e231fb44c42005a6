// expect: out_of_bounds
// problem: affine
// effort: search
// origin: invented
// why: takes every row to have 1000 elements
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0];
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < 1000; ++n) y[b * 1000 + n] = 2 * x[b * 1000 + n] + x[b * 1000];
  return 0;
}
