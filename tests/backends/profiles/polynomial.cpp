// Forty multiply-adds for each element in registers, many elements at once: bound by arithmetic.
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const int64_t n = in[0].shape[0];
  constexpr int64_t block = 256;  // elements in flight: their chains are independent
#pragma omp parallel for
  for (int64_t first = 0; first < n; first += block) {
    const int64_t count = n - first < block ? n - first : block;
    float v[block];
    for (int64_t i = 0; i < count; ++i) v[i] = x[first + i];
    for (int64_t i = 0; i < count; ++i) {
      const float t = x[first + i];
      float a = v[i];
#pragma GCC unroll 40
      for (int k = 0; k < 40; ++k) a = __builtin_fmaf(a, t, static_cast<float>(k % 8 + 1));
      v[i] = a;
    }
    for (int64_t i = 0; i < count; ++i) y[first + i] = v[i];
  }
  return 0;
}
