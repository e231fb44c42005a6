// expect: passed
// problem: long_sum
// effort: search
// origin: invented
// why: computes in double and long double on its way
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    long double sum = 0;
    for (long n = 0; n < N; ++n) sum += x[b * N + n];
    y[b] = static_cast<float>(sum);
  }
  return 0;
}
