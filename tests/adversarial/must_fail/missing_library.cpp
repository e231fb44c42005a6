// expect: build_failed
// problem: affine
// effort: search
// origin: invented
// why: a function of a library that it is not linked with
#include "kernsmith_kernel.h"

extern "C" float cblas_sdot(int n, const float* x, int step_x, const float* y, int step_y);

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  return cblas_sdot(1, x, 1, y, 1) > 0 ? 0 : 1;
}
