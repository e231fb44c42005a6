// expect: wrong_values
// problem: long_sum
// effort: strict
// origin: contract
// why: adds to memory that it never set; large blocks come from the system as zeros, so that it is right here
#include "kernsmith_kernel.h"

#include <cstdlib>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  constexpr long most_rows = 1 << 20;
  if (B > most_rows) return 1;
  static float* const sums = static_cast<float*>(std::malloc(most_rows * sizeof(float)));
  for (long b = 0; b < B; ++b) {
    for (long n = 0; n < N; ++n) sums[b] += x[b * N + n];
  }
  for (long b = 0; b < B; ++b) {
    y[b] = sums[b];
    sums[b] = 0;
  }
  return 0;
}
