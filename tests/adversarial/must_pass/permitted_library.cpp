// expect: passed
// problem: matmul_openblas
// effort: search
// origin: invented
// why: calls OpenBLAS where the problem permits it
#include "kernsmith_kernel.h"

extern "C" void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const int M = static_cast<int>(ctx->axes[0]), N = static_cast<int>(ctx->axes[1]), K = static_cast<int>(ctx->axes[2]);
  cblas_sgemm(101, 111, 111, M, N, K, 1, static_cast<const float*>(in[0].data), K, static_cast<const float*>(in[1].data), N, 0,
              static_cast<float*>(out[0].data), N);
  return 0;
}
