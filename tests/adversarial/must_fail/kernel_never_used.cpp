// expect: unwritten
// problem: affine
// effort: search
// origin: contract
// why: defines a kernel and does not call it
#include "kernsmith_kernel.h"

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" __attribute__((used)) void my_kernel(const float* x, float* y, long B, long N) {
  honest(x, y, B, N);
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  return x == nullptr ? 1 : 0;
}
