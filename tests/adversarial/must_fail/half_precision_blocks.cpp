// expect: precision_broken
// problem: long_sum
// effort: search
// origin: contract
// why: blocks of 32 summed in f16: inside the tolerance, outside the precision contract
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    float sum = 0;
    for (long n = 0; n < N; n += 32) {
      _Float16 block = 0;
      for (long i = n; i < N && i < n + 32; ++i) block = static_cast<_Float16>(block + static_cast<_Float16>(x[b * N + i]));
      sum += static_cast<float>(block);
    }
    y[b] = sum;
  }
  return 0;
}
