// expect: out_of_bounds
// problem: affine
// why: loads past the end of the input, a page away: where its guard pages lie
#ifdef __OPENCL_VERSION__
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void affine(__global const float* x, __global float* y, long rows, long n) {
  const long i = get_global_id(0);
  if (i < rows * n) y[i] = 2 * x[i] + x[i / n * n] + 0 * x[i + rows * n + 1024];
}

#else
#include "kernsmith_opencl.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const int64_t rows = in[0].shape[0], n = in[0].shape[1];
  ks::commands commands;
  commands.run("affine", {(rows * n + 63) / 64}, ks::input(in[0]), ks::output(out[0]), rows, n);
  return commands.finish();
}
#endif
