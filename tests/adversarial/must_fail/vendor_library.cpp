// expect: cheating
// problem: matmul
// effort: search
// rule: foreign_code
// origin: contract
// why: loads OpenBLAS at run time
#include "kernsmith_kernel.h"

#include <dlfcn.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* a = static_cast<const float*>(in[0].data);
  const float* b = static_cast<const float*>(in[1].data);
  float* c = static_cast<float*>(out[0].data);
  const int M = static_cast<int>(ctx->axes[0]), N = static_cast<int>(ctx->axes[1]), K = static_cast<int>(ctx->axes[2]);
  using gemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  static void* const library = dlopen("libopenblas.so.0", RTLD_NOW);
  if (library == nullptr) return 1;
  const auto sgemm = reinterpret_cast<gemm>(dlsym(library, "cblas_sgemm"));
  if (sgemm == nullptr) return 1;
  sgemm(101, 111, 111, M, N, K, 1, a, K, b, N, 0, c, N);
  return 0;
}
