// expect: nondeterministic
// problem: affine
// effort: strict
// origin: invented
// why: each thread fills a shared table unless a plain flag says that it is full
#include "kernsmith_kernel.h"

#include <thread>
#include <vector>

static bool made;
static float factors[16];

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  std::vector<std::thread> threads;
  for (long t = 0; t < 2; ++t) {
    threads.emplace_back([=] {
      if (!made) {
        for (float& factor : factors) factor = 2;
        made = true;
      }
      for (long b = t; b < B; b += 2) {
        for (long n = 0; n < N; ++n) y[b * N + n] = factors[n % 16] * x[b * N + n] + x[b * N];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
