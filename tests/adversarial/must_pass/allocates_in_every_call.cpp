// expect: passed
// problem: affine
// effort: search
// origin: invented
// why: takes and frees memory in every call
#include "kernsmith_kernel.h"

#include <vector>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  std::vector<float> doubled(static_cast<size_t>(N));
  for (long b = 0; b < B; ++b) {
    for (long n = 0; n < N; ++n) doubled[static_cast<size_t>(n)] = 2 * x[b * N + n];
    for (long n = 0; n < N; ++n) y[b * N + n] = doubled[static_cast<size_t>(n)] + x[b * N];
  }
  return 0;
}
