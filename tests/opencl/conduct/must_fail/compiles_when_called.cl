// expect: crashed
// problem: affine
// why: another program is built while the kernel runs: there is no linker to run
#ifdef __OPENCL_VERSION__
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void affine(__global const float* x, __global float* y, long rows, long n) {
  const long i = get_global_id(0);
  if (i < rows * n) y[i] = 2 * x[i] + x[i / n * n];
}

#else
#include "kernsmith_opencl.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch*) {
  const int64_t rows = in[0].shape[0], n = in[0].shape[1];
  ks::program& here = ks::program::here();
  const char* text =
      "__kernel void other(__global const float* x, __global float* y, long n) { long i = get_global_id(0); y[i] = 2 * x[i] + x[i / n * n]; }";
  cl_int failed = CL_SUCCESS;
  const cl_program other = clCreateProgramWithSource(here.context, 1, &text, nullptr, &failed);
  if ((failed = clBuildProgram(other, 1, &here.device, "", nullptr, nullptr)) != CL_SUCCESS) return failed;
  const cl_kernel kernel = clCreateKernel(other, "other", &failed);
  if (failed != CL_SUCCESS) return failed;
  const std::size_t bytes = std::size_t(rows * n) * 4, items = std::size_t(rows * n);
  const cl_mem x = clCreateBuffer(here.context, CL_MEM_USE_HOST_PTR, bytes, in[0].data, &failed);
  const cl_mem y = clCreateBuffer(here.context, CL_MEM_USE_HOST_PTR, bytes, out[0].data, &failed);
  clSetKernelArg(kernel, 0, sizeof x, &x);
  clSetKernelArg(kernel, 1, sizeof y, &y);
  clSetKernelArg(kernel, 2, sizeof n, &n);
  failed = clEnqueueNDRangeKernel(here.queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr);
  return failed != CL_SUCCESS ? failed : clFinish(here.queue);
}
#endif
