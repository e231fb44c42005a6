// expect: out_of_bounds
// problem: affine
// effort: strict
// origin: contract
// why: reads memory that it has given back and that nobody has taken since
#include "kernsmith_kernel.h"

#include <cstdlib>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  for (long b = 0; b < B; ++b) {
    volatile float* const firsts = static_cast<volatile float*>(std::malloc(64 * sizeof(float)));
    firsts[32] = x[b * N];
    std::free(const_cast<float*>(firsts));
    const float first = firsts[32];
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + first;
  }
  return 0;
}
