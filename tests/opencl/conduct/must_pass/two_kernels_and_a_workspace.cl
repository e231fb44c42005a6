// expect: passed
// problem: affine
// why: an intermediate of its own between two kernels, groups in two dimensions, vectors
#ifdef __OPENCL_VERSION__
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void take_first(__global const float* x, __global float* first, long rows, long n) {
  const long b = get_global_id(0);
  if (b < rows) first[b] = x[b * n];
}

__kernel __attribute__((reqd_work_group_size(16, 1, 1))) void affine(__global const float* x, __global const float* first, __global float* y, long n) {
  const long j = 4 * get_global_id(0), b = get_group_id(1);
  if (j + 4 <= n) {
    vstore4(2 * vload4(0, x + b * n + j) + first[b], 0, y + b * n + j);
  } else {
    for (long k = j; k < n; ++k) y[b * n + k] = 2 * x[b * n + k] + first[b];
  }
}

#else
#include "kernsmith_opencl.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const int64_t rows = in[0].shape[0], n = in[0].shape[1];
  std::vector<float> memory(static_cast<std::size_t>(rows));
  const ks::output first(memory.data(), memory.size() * sizeof(float));
  ks::commands commands;
  commands.run("take_first", {(rows + 7) / 8}, ks::input(in[0]), first, rows, n);
  commands.run("affine", {(n + 63) / 64, rows}, ks::input(in[0]), first, ks::output(out[0]), n);
  return commands.finish();
}
#endif
