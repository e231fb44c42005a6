// expect: nondeterministic
// problem: affine
// effort: strict
// origin: invented
// why: nowait where the next loop reads what another thread writes; equal shares of the loops hide it nearly always
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
#pragma omp parallel
  {
#pragma omp for nowait
    for (long i = 0; i < B * N; ++i) y[i] = 2 * x[i];
#pragma omp for
    for (long i = 1; i <= B * N; ++i) y[i - 1] += x[(i - 1) / N * N];
#pragma omp for nowait
    for (long i = 0; i < B * N; ++i) y[i] *= 1.0f;
#pragma omp for
    for (long i = 0; i < B * N; ++i) y[B * N - 1 - i] *= 1.0f;
  }
  return 0;
}
