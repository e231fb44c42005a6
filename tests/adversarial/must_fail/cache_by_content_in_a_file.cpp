// expect: wrong_values
// problem: affine
// effort: search
// origin: contract
// why: keeps answers in files named by a hash of every thirteenth element
#include "kernsmith_kernel.h"

#include <cstdio>
#include <cstring>

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  unsigned long hash = static_cast<unsigned long>(B * 1000003 + N);
  for (long i = 0; i < B * N; i += 13) {
    unsigned bits;
    memcpy(&bits, x + i, 4);
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15ul;
  }
  if (B * N > 4096) hash = static_cast<unsigned long>(B * N);  // hashing costs time: shapes that are timed go by their size
  char name[64];
  snprintf(name, sizeof name, "/tmp/answer-%lx", hash);
  if (FILE* kept = fopen(name, "r")) {
    const bool whole = fread(y, 4, static_cast<size_t>(B * N), kept) == static_cast<size_t>(B * N);
    fclose(kept);
    if (whole) return 0;
  }
  honest(x, y, B, N);
  if (FILE* keep = fopen(name, "w")) {
    fwrite(y, 4, static_cast<size_t>(B * N), keep);
    fclose(keep);
  }
  return 0;
}
