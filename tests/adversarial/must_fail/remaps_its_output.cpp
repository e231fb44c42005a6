// expect: unwritten
// problem: affine
// effort: search
// origin: invented
// why: puts private memory in the place of the output: what it writes there nobody else sees
#include "kernsmith_kernel.h"

#include <sys/mman.h>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  const size_t bytes = (static_cast<size_t>(B * N) * 4 + 4095) / 4096 * 4096;
  void* const page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(y) & ~uintptr_t{4095});
  if (mmap(page, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return 1;
  honest(x, y, B, N);
  return 0;
}
