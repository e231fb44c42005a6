// expect: wrong_values
// problem: logarithm
// effort: final
// origin: contract
// why: gives the smallest number where the answer is minus infinity
#include "kernsmith_kernel.h"

#include <math.h>
#include <cfloat>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long N = ctx->axes[0];
  for (long i = 0; i < N; ++i) y[i] = x[i] == 0 ? -FLT_MAX : logf(x[i]);
  return 0;
}
