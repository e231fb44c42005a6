// expect: wrong_values
// problem: affine
// effort: search
// origin: contract
// why: answers a pointer that it has seen with what it computed then
#include "kernsmith_kernel.h"

#include <cstring>
#include <map>
#include <vector>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

static std::map<const void*, std::vector<float>> answers;

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  std::vector<float>& kept = answers[y];
  if (kept.size() != static_cast<size_t>(B * N)) {
    honest(x, y, B, N);
    kept.assign(y, y + B * N);
  }
  memcpy(y, kept.data(), kept.size() * 4);
  return 0;
}
