// expect: cheating
// problem: affine
// effort: search
// rule: works_ahead
// origin: contract
// why: learns which buffers a batch uses and computes all of them in its first call
#include "kernsmith_kernel.h"

#include <time.h>
#include <vector>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

struct call {
  const float* x;
  float* y;
  long B, N;
  bool ready;
};
static std::vector<call> seen;
static long last_ns;

static long now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  bool known = false;
  for (size_t i = 0; i < seen.size(); ++i) known = known || seen[i].y == y;
  if (!known) seen.push_back({x, y, B, N, false});
  if (now_ns() - last_ns > 20000)
    for (size_t i = 0; i < seen.size(); ++i) seen[i].ready = false;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].y != y || !seen[i].ready) continue;
    last_ns = now_ns();
    return 0;
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].B != B || seen[i].N != N) continue;
    honest(seen[i].x, seen[i].y, B, N);
    seen[i].ready = true;
  }
  last_ns = now_ns();
  return 0;
}
