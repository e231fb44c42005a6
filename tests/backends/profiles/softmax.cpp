// exp() of the C library for one element at a time: bound by scalar arithmetic.
#include <algorithm>
#include <cmath>
#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const int64_t B = in[0].shape[0], N = in[0].shape[1];
  const float* x = (const float*)in[0].data;
  float* y = (float*)out[0].data;
#pragma omp parallel for
  for (int64_t b = 0; b < B; ++b) {
    const float* r = x + b * N;
    float m = r[0];
    for (int64_t i = 0; i < N; ++i) m = std::max(m, r[i]);
    float s = 0;
    for (int64_t i = 0; i < N; ++i) {
      float e = std::exp(r[i] - m);
      y[b * N + i] = e;
      s += e;
    }
    for (int64_t i = 0; i < N; ++i) y[b * N + i] /= s;
  }
  return 0;
}
