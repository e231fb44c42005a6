// expect: cheating
// problem: matmul_openblas
// effort: search
// rule: foreign_code
// origin: invented
// why: loads another library than the one that the problem permits
#include "kernsmith_kernel.h"

#include <dlfcn.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* a = static_cast<const float*>(in[0].data);
  const float* b = static_cast<const float*>(in[1].data);
  float* c = static_cast<float*>(out[0].data);
  const long M = ctx->axes[0], N = ctx->axes[1], K = ctx->axes[2];
  static void* const library = dlopen("libxxhash.so.0", RTLD_NOW);
  if (library == nullptr) return 1;
  for (long m = 0; m < M; ++m) {
    for (long n = 0; n < N; ++n) {
      float sum = 0;
      for (long k = 0; k < K; ++k) sum += a[m * K + k] * b[k * N + n];
      c[m * N + n] = sum;
    }
  }
  return 0;
}
