// expect: wrong_values
// problem: affine
// effort: search
// origin: contract
// why: hands the input through
#include "kernsmith_kernel.h"

#include <cstring>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  memcpy(y, x, static_cast<size_t>(B * N) * 4);
  return 0;
}
