// expect: wrong_values
// problem: long_sum
// effort: search
// origin: contract
// why: partial sums of one row added by two threads at once, without a barrier
#include "kernsmith_kernel.h"

#include <sched.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
#pragma omp parallel for
  for (long b = 0; b < B; ++b) y[b] = 0;
#pragma omp parallel for schedule(static, 1)
  for (long i = 0; i < B * N; ++i) {
    volatile float* const sum = y + i % B;
    const float before = *sum;
    if (i % 64 < 2) sched_yield();
    *sum = before + x[i % B * N + i / B];
  }
  return 0;
}
