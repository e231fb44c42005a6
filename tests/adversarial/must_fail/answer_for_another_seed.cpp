// expect: wrong_values
// problem: affine
// effort: search
// origin: contract
// why: the right operator on contents of its own making
#include "kernsmith_kernel.h"

#include <random>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  for (long b = 0; b < B; ++b) {
    float first = 0;
    for (long n = 0; n < N; ++n) {
      const float mine = normal(engine);
      if (n == 0) first = mine;
      y[b * N + n] = 2 * mine + first;
    }
  }
  return 0;
}
