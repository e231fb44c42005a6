// expect: passed
// problem: long_sum
// effort: strict
// origin: contract
// why: reductions, barriers, critical sections and single: all that OpenMP orders
#include "kernsmith_kernel.h"

#include <vector>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  std::vector<double> halves(2);
  for (long b = 0; b < B; ++b) {
    double sum = 0;
#pragma omp parallel
    {
#pragma omp single
      halves[0] = halves[1] = 0;
#pragma omp for schedule(dynamic, 64) reduction(+ : sum)
      for (long n = 0; n < N / 2; ++n) sum += x[b * N + n];
      double own = 0;
#pragma omp for nowait
      for (long n = N / 2; n < N; ++n) own += x[b * N + n];
#pragma omp critical
      halves[1] += own;
#pragma omp barrier
#pragma omp master
      halves[0] = sum;
#pragma omp barrier
#pragma omp single
      y[b] = static_cast<float>(halves[0] + halves[1]);
    }
  }
  return 0;
}
