// Softmax over rows: one work-group per row, its work-items stride over the row and meet in local memory.
KS_PARAM(GROUP, 64, 32, 64, 128, 256);

#ifdef __OPENCL_VERSION__

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void softmax_rows(__global const float* restrict x, __global float* restrict y,
                                                                              long n) {
  __local float part[GROUP];
  const int me = get_local_id(0);
  x += get_group_id(0) * n;
  y += get_group_id(0) * n;

  float largest = -INFINITY;
  for (long j = me; j < n; j += GROUP) largest = fmax(largest, x[j]);
  part[me] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = GROUP / 2; step > 0; step /= 2) {
    if (me < step) part[me] = fmax(part[me], part[me + step]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  largest = part[0];
  barrier(CLK_LOCAL_MEM_FENCE);

  float sum = 0;
  for (long j = me; j < n; j += GROUP) {
    const float e = exp(x[j] - largest);
    y[j] = e;
    sum += e;
  }
  part[me] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step = GROUP / 2; step > 0; step /= 2) {
    if (me < step) part[me] += part[me + step];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = 1 / part[0];
  for (long j = me; j < n; j += GROUP) y[j] *= scale;
}

#else

#include "kernsmith_opencl.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const int64_t rows = in[0].shape[0], n = in[0].shape[1];
  ks::commands commands;
  commands.run("softmax_rows", {rows}, ks::input(in[0]), ks::output(out[0]), n);
  return commands.finish();
}

#endif
