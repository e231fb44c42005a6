// RMS norm row by row, several elements in one turn. Scalar C: any compiler takes it.
#include "kernsmith_kernel.h"

#include <math.h>

KS_PARAM(UNROLL, 4, 1, 2, 4, 8);  // elements in one turn

int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx) {
  (void)n_in, (void)n_out;
  const float* restrict x = in[0].data;
  const float* restrict g = in[1].data;
  float* restrict y = out[0].data;
  const int64_t B = ctx->axes[0], N = ctx->axes[1];
  for (int64_t b = 0; b < B; ++b, x += N, y += N) {
    float sums[UNROLL] = {0};
    int64_t n = 0;
    for (; n + UNROLL <= N; n += UNROLL) {
      for (int u = 0; u < UNROLL; ++u) sums[u] += x[n + u] * x[n + u];
    }
    for (; n < N; ++n) sums[0] += x[n] * x[n];
    float sum = 0;
    for (int u = 0; u < UNROLL; ++u) sum += sums[u];
    const float scale = 1.0f / sqrtf(sum / (float)N + 1e-6f);
    for (n = 0; n < N; ++n) y[n] = x[n] * scale * g[n];
  }
  return 0;
}
