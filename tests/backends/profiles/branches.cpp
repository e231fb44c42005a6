// A branch on random values that the compiler may not turn into a selection: bound by misprediction.
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const int32_t* x = static_cast<const int32_t*>(in[0].data);
  int32_t* y = static_cast<int32_t*>(out[0].data);
  const int64_t n = in[0].shape[0];
#pragma omp parallel for
  for (int64_t i = 0; i < n; ++i) {
    int32_t v = x[i];
    if (v > 0) {
      asm volatile("" : "+r"(v));
      v = v * 3 + 1;
    } else {
      asm volatile("" : "+r"(v));
      v = 7 - v;
    }
    y[i] = v;
  }
  return 0;
}
