// expect: wrong_values
// problem: long_sum
// effort: strict
// origin: contract
// why: adds to memory that it never set; large blocks come as zeros from the system, so that it is mostly right
#include "kernsmith_kernel.h"

#include <cstdlib>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  float* const sums = static_cast<float*>(std::malloc((1 << 20) + static_cast<unsigned long>(B) * sizeof(float)));
  for (long b = 0; b < B; ++b) {
    for (long n = 0; n < N; ++n) sums[b] += x[b * N + n];
  }
  for (long b = 0; b < B; ++b) y[b] = sums[b];
  std::free(sums);
  return 0;
}
