// Four rows by 64 columns of the product in registers: bound by arithmetic.
#include <cstring>
#include "kernsmith_kernel.h"

typedef float lanes __attribute__((vector_size(64), aligned(4)));

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const float* a = static_cast<const float*>(in[0].data);
  const float* b = static_cast<const float*>(in[1].data);
  float* c = static_cast<float*>(out[0].data);
  const int64_t m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[1];
#pragma omp parallel for
  for (int64_t i0 = 0; i0 < m; i0 += 4) {
    const int64_t rows = m - i0 < 4 ? m - i0 : 4;
    int64_t j = 0;
    if (rows == 4) {
      for (; j + 32 <= n; j += 32) {
        lanes s[4][2] = {};
        for (int64_t p = 0; p < k; ++p) {
          lanes v0, v1;
          std::memcpy(&v0, b + p * n + j, 64);
          std::memcpy(&v1, b + p * n + j + 16, 64);
#pragma GCC unroll 4
          for (int r = 0; r < 4; ++r) {
            s[r][0] += a[(i0 + r) * k + p] * v0;
            s[r][1] += a[(i0 + r) * k + p] * v1;
          }
        }
        for (int r = 0; r < 4; ++r) std::memcpy(c + (i0 + r) * n + j, s[r], 128);
      }
    }
    for (int64_t i = i0; i < i0 + rows; ++i) {
      for (int64_t t = j; t < n; ++t) {
        float sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + t];
        c[i * n + t] = sum;
      }
    }
  }
  return 0;
}
