// Sixty-four values are kept at once where there are half as many registers: bound by spills.
#include "kernsmith_kernel.h"

typedef float lanes __attribute__((vector_size(64)));

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const int64_t n = in[0].shape[0];
#pragma omp parallel for
  for (int64_t first = 0; first < n; first += 16) {
    const int64_t count = n - first < 16 ? n - first : 16;
    lanes v[64] = {};
#pragma GCC unroll 64
    for (int k = 0; k < 64; ++k)
      for (int64_t i = 0; i < count; ++i) v[k][i] = x[(first + i) * 64 + k];
    lanes sum = {};
    for (int round = 0; round < 64; ++round) {
      lanes t = v[0];
#pragma GCC unroll 64
      for (int k = 0; k < 63; ++k) {
        sum += t * v[k];
        v[k] = v[k + 1];
      }
      sum += t * v[63];
      v[63] = t;
    }
    for (int64_t i = 0; i < count; ++i) y[first + i] = sum[i];
  }
  return 0;
}
