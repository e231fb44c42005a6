// expect: passed
// problem: heavy_rows
// effort: final
// origin: invented
// why: the operator of keeps_answers_by_row, computed each time
#include "kernsmith_kernel.h"

#include <math.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
#pragma omp parallel for
  for (long b = 0; b < B; ++b) {
    const float t = tanhf(x[b * N]);
    for (long n = 0; n < N; ++n) y[b * N + n] = sinf(expf(-fabsf(x[b * N + n])) + cosf(x[b * N + n]) * t);
  }
  return 0;
}
