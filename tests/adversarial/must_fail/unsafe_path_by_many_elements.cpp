// expect: wrong_values
// problem: softmax
// effort: final
// origin: invented
// why: softmax without the maximum where every sixteenth element looks harmless
#include "kernsmith_kernel.h"

#include <math.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    const float* row = x + b * N;
    float most = row[0];
    for (long n = 0; n < N; n += 16) most = fmaxf(most, row[n]);
    if (most < 20) {
      most = 0;
    } else {
      for (long n = 0; n < N; ++n) most = fmaxf(most, row[n]);
    }
    float sum = 0;
    for (long n = 0; n < N; ++n) sum += y[b * N + n] = expf(row[n] - most);
    for (long n = 0; n < N; ++n) y[b * N + n] /= sum;
  }
  return 0;
}
