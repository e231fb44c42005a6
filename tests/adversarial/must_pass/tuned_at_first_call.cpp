// expect: passed
// problem: affine
// effort: search
// origin: contract
// why: times two variants on its first call for a shape and keeps the faster
#include "kernsmith_kernel.h"

#include <time.h>
#include <map>
#include <utility>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

static std::map<std::pair<long, long>, int> chosen;

static void variant(int unrolled, const float* x, float* y, long B, long N) {
  if (!unrolled) return honest(x, y, B, N);
  for (long b = 0; b < B; ++b) {
#pragma GCC unroll 8
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
  }
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  const auto timed = [&](int unrolled) {
    timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 4; ++i) variant(unrolled, x, y, B, N);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
  };
  const auto known = chosen.find({B, N});
  if (known != chosen.end()) {
    variant(known->second, x, y, B, N);
  } else {
    chosen[{B, N}] = timed(1) < timed(0);
  }
  return 0;
}
