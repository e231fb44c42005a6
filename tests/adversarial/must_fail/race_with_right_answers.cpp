// expect: nondeterministic
// problem: affine
// effort: strict
// origin: contract
// why: all threads write the same number to the same place; nothing shows but that it is undefined
#include "kernsmith_kernel.h"

float first;  // not static: the compiler would leave out what nobody reads

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
#pragma omp parallel for
    for (long n = 0; n < N; ++n) {
      first = x[b * N];
      y[b * N + n] = 2 * x[b * N + n] + first;
    }
  }
  return 0;
}
