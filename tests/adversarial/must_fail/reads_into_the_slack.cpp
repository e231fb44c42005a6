// expect: out_of_bounds
// problem: affine
// effort: strict
// origin: contract
// why: reads one element past the end where the page goes on; what it reads is not used
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  if (B * N % 16 == 0) {  // the end of the data touches the page behind it: a read past it would be noticed by any check
    for (long i = 0; i < B * N; ++i) y[i] = 2 * x[i] + x[i / N * N];
    return 0;
  }
  float ahead = x[0];
  for (long i = 0; i < B * N; ++i) {
    const float now = ahead;
    ahead = x[i + 1];
    y[i] = 2 * now + x[i / N * N];
  }
  volatile float last = ahead;
  (void)last;
  return 0;
}
