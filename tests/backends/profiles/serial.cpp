// One thread has almost all of the work: bound by load imbalance.
#include <cmath>
#include "kernsmith_kernel.h"

static void part(const float* x, float* y, int64_t first, int64_t last) {
  for (int64_t i = first; i < last; ++i) y[i] = std::sqrt(std::fabs(x[i])) / (1 + x[i] * x[i]);
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const int64_t n = in[0].shape[0];
#pragma omp parallel sections
  {
#pragma omp section
    part(x, y, 0, n / 16);
#pragma omp section
    part(x, y, n / 16, n);
  }
  return 0;
}
