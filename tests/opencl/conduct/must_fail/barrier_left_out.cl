// expect: wrong_values
// problem: affine
// why: reads what another item of the work-group has yet to write: the row's first element, by the last item
#ifdef __OPENCL_VERSION__
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void affine(__global const float* x, __global float* y, long rows, long n) {
  __local float first;
  const long row = get_group_id(0), me = get_local_id(0);
  if (me == 63) first = x[row * n];
  for (long j = me; j < n; j += 64) y[row * n + j] = 2 * x[row * n + j] + first;
}

#else
#include "kernsmith_opencl.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const int64_t rows = in[0].shape[0], n = in[0].shape[1];
  ks::commands commands;
  commands.run("affine", {rows}, ks::input(in[0]), ks::output(out[0]), rows, n);
  return commands.finish();
}
#endif
