// expect: passed
// problem: long_sum
// effort: search
// origin: contract
// why: sums in another order and with fused multiply-adds: other bits, inside the budget
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    float part[32] = {};
    long n = N;
    for (; n >= 32; n -= 32)
      for (int i = 0; i < 32; ++i) part[i] = __builtin_fmaf(x[b * N + n - 32 + i], 1.0f, part[i]);
    float sum = 0;
    for (; n > 0; --n) sum += x[b * N + n - 1];
    for (int i = 0; i < 32; ++i) sum += part[i];
    y[b] = sum;
  }
  return 0;
}
