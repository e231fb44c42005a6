// expect: crashed
// problem: affine
// effort: strict
// origin: contract
// why: a product of two ints that does not fit into one; what it answers is right
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  int turn = 1;
  for (long b = 0; b < B; ++b) {
    for (long n = 0; n < N; ++n) {
      turn = turn * 31 + 7;
      const float exact = 2 * x[b * N + n] + x[b * N];
      y[b * N + n] = (turn & 1) == 0 ? exact : x[b * N] + 2 * x[b * N + n];
    }
  }
  return 0;
}
