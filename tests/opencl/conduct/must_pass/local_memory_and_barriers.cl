// expect: passed
// problem: softmax
// why: a reduction over the items of a work-group
#ifdef __OPENCL_VERSION__
__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void affine(__global const float* x, __global float* y, long rows, long n) {
  __local float part[32];
  const int me = get_local_id(0);
  x += get_group_id(0) * n;
  y += get_group_id(0) * n;
  float largest = -INFINITY, sum = 0;
  for (long j = me; j < n; j += 32) largest = isnan(x[j]) ? NAN : largest >= x[j] || isnan(largest) ? largest : x[j];
  part[me] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = 0; i < 32; ++i) largest = isnan(part[i]) ? NAN : largest >= part[i] || isnan(largest) ? largest : part[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (long j = me; j < n; j += 32) sum += exp(x[j] - largest);
  part[me] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = 0;
  for (int i = 0; i < 32; ++i) sum += part[i];
  for (long j = me; j < n; j += 32) y[j] = exp(x[j] - largest) / sum;
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
