// expect: passed
// problem: matmul
// effort: strict
// origin: contract
// why: split-K with atomic additions under the sanitizers: unordered, and no race
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* a = static_cast<const float*>(in[0].data);
  const float* b = static_cast<const float*>(in[1].data);
  float* c = static_cast<float*>(out[0].data);
  const long M = ctx->axes[0], N = ctx->axes[1], K = ctx->axes[2];
  for (long i = 0; i < M * N; ++i) c[i] = 0;
  constexpr long part = 64;
#pragma omp parallel for collapse(2)
  for (long k0 = 0; k0 < (K + part - 1) / part; ++k0) {
    for (long m = 0; m < M; ++m) {
      for (long n = 0; n < N; ++n) {
        float sum = 0;
        for (long k = k0 * part; k < K && k < (k0 + 1) * part; ++k) sum += a[m * K + k] * b[k * N + n];
#pragma omp atomic
        c[m * N + n] += sum;
      }
    }
  }
  return 0;
}
