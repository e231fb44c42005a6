// expect: nondeterministic
// problem: affine
// effort: strict
// origin: invented
// why: two loops of one region write the same numbers to the same places, with nowait between them
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
#pragma omp parallel
  {
#pragma omp for nowait
    for (long i = 0; i < B * N; ++i) y[i] = 2 * x[i] + x[i / N * N];
#pragma omp for
    for (long i = B * N - 1; i >= 0; --i) y[i] = 2 * x[i] + x[i / N * N];
  }
  return 0;
}
