// expect: passed
// problem: affine
// effort: search
// origin: contract
// why: takes the compiler seconds
#include "kernsmith_kernel.h"

static void honest(const float* x, float* y, long B, long N) {
  for (long b = 0; b < B; ++b)
    for (long n = 0; n < N; ++n) y[b * N + n] = 2 * x[b * N + n] + x[b * N];
}

template <int N, class T>
struct work {
  static constexpr unsigned long value = work<N - 1, work<N, T>>::value + work<N - 1, const T*>::value;
};
template <class T>
struct work<0, T> {
  static constexpr unsigned long value = 1;
};

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  honest(x, y, B, N);
  return work<17, int>::value == 131072 ? 0 : 1;
}
