// expect: refused
// problem: affine
// effort: search
// origin: contract
// why: fills /tmp
#include "kernsmith_kernel.h"

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  static char block[1 << 20];
  for (int file = 0; file < 64; ++file) {
    char name[32];
    snprintf(name, sizeof name, "/tmp/fill-%d", file);
    const int to = open(name, O_WRONLY | O_CREAT, 0600);
    if (to < 0) return 1;
    for (int i = 0; i < 32; ++i)
      if (write(to, block, sizeof block) != static_cast<ssize_t>(sizeof block)) return 1;
  }
  honest(x, y, B, N);
  return 0;
}
