// Scaled transpose in square blocks, so that both the reads and the writes of a block stay in the first-level cache.
#include "kernsmith_kernel.h"

KS_PARAM(BLOCK, 8, 8, 16, 32, 64, 128);  // edge of a block, elements
KS_PARAM(UNROLL, 1, 1, 2, 4, 8);         // rows of a block handled together

extern "C" int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx) {
  if (n_in != 1 || n_out != 1) return 1;
  const float* __restrict x = static_cast<const float*>(in[0].data);
  float* __restrict y = static_cast<float*>(out[0].data);
  const int64_t M = in[0].shape[0], N = in[0].shape[1];
#pragma omp parallel for collapse(2) schedule(static) num_threads(ctx->threads)
  for (int64_t n0 = 0; n0 < N; n0 += BLOCK) {
    for (int64_t m0 = 0; m0 < M; m0 += BLOCK) {
      const int64_t n1 = n0 + BLOCK < N ? n0 + BLOCK : N;
      const int64_t m1 = m0 + BLOCK < M ? m0 + BLOCK : M;
      int64_t n = n0;
      for (; n + UNROLL <= n1; n += UNROLL)
        for (int64_t m = m0; m < m1; ++m)
          for (int64_t u = 0; u < UNROLL; ++u) y[(n + u) * M + m] = 0.5f * x[m * N + n + u];
      for (; n < n1; ++n)
        for (int64_t m = m0; m < m1; ++m) y[n * M + m] = 0.5f * x[m * N + n];
    }
  }
  return 0;
}
