// expect: wrong_values
// problem: long_sum
// effort: search
// origin: contract
// why: one f16 accumulator for 4096 terms: it stops growing
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    _Float16 sum = 0;
    for (long n = 0; n < N; ++n) sum = static_cast<_Float16>(sum + static_cast<_Float16>(x[b * N + n]));
    y[b] = static_cast<float>(sum);
  }
  return 0;
}
