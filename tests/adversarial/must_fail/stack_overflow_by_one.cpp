// expect: out_of_bounds
// problem: affine
// effort: strict
// origin: invented
// why: the last partial block writes one element past a table on the stack; what it answers is right
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    for (long n0 = 0; n0 < N; n0 += 16) {
      const long count = n0 + 16 <= N ? 16 : N - n0;
      float block[16];
      float* const to = block;
      for (long k = 0; k < count; ++k) to[k] = 2 * x[b * N + n0 + k];
      if (count == 16) to[count] = 0;
      for (long k = 0; k < count; ++k) y[b * N + n0 + k] = to[k] + x[b * N];
    }
  }
  return 0;
}
