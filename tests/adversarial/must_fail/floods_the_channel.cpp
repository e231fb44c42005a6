// expect: crashed
// problem: affine
// effort: search
// origin: invented
// why: a thread sends messages on the result descriptor all the time
#include "kernsmith_kernel.h"

#include <unistd.h>
#include <thread>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  static std::thread sender([] {
    const char junk[48] = {5};
    for (;;) (void)!write(6, junk, sizeof junk);
  });
  honest(x, y, B, N);
  return 0;
}
