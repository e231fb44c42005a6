// expect: unwritten
// problem: affine
// effort: search
// origin: contract
// why: whole vectors of 16 only
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long i = 0; i + 16 <= B * N; i += 16)
    for (long j = i; j < i + 16; ++j) y[j] = 2 * x[j] + x[j / N * N];
  return 0;
}
