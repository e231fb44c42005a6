// expect: nondeterministic
// problem: histogram
// effort: search
// origin: contract
// why: threads count into one table without atomics
#include "kernsmith_kernel.h"

#include <sched.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const int* x = static_cast<const int*>(in[0].data);
  int* h = static_cast<int*>(out[0].data);
  const long N = ctx->axes[0];
  for (long k = 0; k < 64; ++k) h[k] = 0;
#pragma omp parallel for schedule(static, 1)
  for (long n = 0; n < N; ++n) {
    volatile int* const slot = h + x[n];
    const int before = *slot;
    if (n % 64 == 0) sched_yield();  // the window in which the other thread's count is lost
    *slot = before + 1;
  }
  return 0;
}
