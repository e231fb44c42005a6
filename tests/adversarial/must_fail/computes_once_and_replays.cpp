// expect: wrong_values
// problem: affine
// effort: search
// origin: contract
// why: the first call computes, later ones copy
#include "kernsmith_kernel.h"

#include <cstdlib>
#include <cstring>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  static float* kept;
  static long size;
  if (size != B * N) {
    size = B * N;
    kept = static_cast<float*>(realloc(kept, static_cast<size_t>(size) * 4));
    honest(x, kept, B, N);
  }
  memcpy(y, kept, static_cast<size_t>(size) * 4);
  return 0;
}
