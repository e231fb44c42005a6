// expect: out_of_bounds
// problem: affine
// effort: strict
// origin: contract
// why: writes one element past the end of memory of its own; what it answers is right
#include "kernsmith_kernel.h"

#include <cstddef>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  // A multiple of 16 bytes: what lies right behind belongs to nobody, and the allocator does not notice.
  const long room = (N + 3) / 4 * 4;
  for (long b = 0; b < B; ++b) {
    float* const row = new float[static_cast<std::size_t>(room)];
    for (long n = 0; n <= room; ++n) row[n] = n < N ? 2 * x[b * N + n] + x[b * N] : 0;
    for (long n = 0; n < N; ++n) y[b * N + n] = row[n];
    delete[] row;
  }
  return 0;
}
