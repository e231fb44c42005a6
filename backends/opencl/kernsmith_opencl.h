/* The host side of an OpenCL kernel, beside kernsmith_kernel.h: a queue on the device, buffers over the caller's memory, kernels of the
 * program that the same file is when it is compiled as OpenCL C.
 *
 *     #ifdef __OPENCL_VERSION__
 *     __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void add_one(__global const float* x, __global float* y, long n) { ... }
 *     #else
 *     #include "kernsmith_opencl.h"
 *     extern "C" int launch(const ks_tensor* in, int n_in, ks_tensor* out, int n_out, ks_launch* ctx) {
 *       const int64_t n = in[0].shape[0];
 *       ks::commands commands;
 *       commands.run("add_one", {(n + 255) / 256}, ks::input(in[0]), ks::output(out[0]), n);
 *       return commands.finish();
 *     }
 *     #endif
 *
 * run() takes the number of work-groups in up to three dimensions; the size of a group is the kernel's reqd_work_group_size. Commands run
 * in order. finish() waits for all of them and returns 0, or the first failure's cl_int.
 */
#ifndef KERNSMITH_OPENCL_H
#define KERNSMITH_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "kernsmith_kernel.h"

/* The file's own text as it was compiled for the device; the build puts it there. */
extern "C" const char ks_opencl_source[];
extern "C" const char ks_opencl_source_end[];

namespace ks {

inline std::size_t bytes_of(const ks_tensor& t) {
  static constexpr std::size_t sizes[] = {8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 1, 1};
  std::size_t bytes = sizes[t.dtype];
  for (int i = 0; i < t.rank; ++i) bytes *= static_cast<std::size_t>(t.shape[i]);
  return bytes;
}

struct input {
  explicit input(const ks_tensor& t) : data(t.data), bytes(bytes_of(t)) {}
  input(void* memory, std::size_t size) : data(memory), bytes(size) {}
  void* data;
  std::size_t bytes;
};
/* Read and written; also for intermediates in the workspace. */
struct output {
  explicit output(const ks_tensor& t) : data(t.data), bytes(bytes_of(t)) {}
  output(void* memory, std::size_t size) : data(memory), bytes(size) {}
  void* data;
  std::size_t bytes;
};

/* The device, and the program built for it, once for each process. */
class program {
 public:
  static program& here() {
    static program one;
    return one;
  }
  cl_kernel kernel(const char* name, cl_int& failed) {
    auto known = kernels_.find(name);
    if (known == kernels_.end()) known = kernels_.emplace(name, clCreateKernel(program_, name, &failed)).first;
    return known->second;
  }
  cl_context context = nullptr;
  cl_command_queue queue = nullptr;
  cl_device_id device = nullptr;
  cl_int failed = CL_SUCCESS;

 private:
  program() {
    cl_platform_id platform = nullptr;
    if ((failed = clGetPlatformIDs(1, &platform, nullptr)) != CL_SUCCESS) return;
    if ((failed = clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr)) != CL_SUCCESS) return;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &failed);
    if (failed != CL_SUCCESS) return;
    queue = clCreateCommandQueue(context, device, 0, &failed);
    if (failed != CL_SUCCESS) return;
    const char* text = ks_opencl_source;
    const std::size_t length = static_cast<std::size_t>(ks_opencl_source_end - ks_opencl_source);
    program_ = clCreateProgramWithSource(context, 1, &text, &length, &failed);
    if (failed == CL_SUCCESS) failed = clBuildProgram(program_, 1, &device, "", nullptr, nullptr);
  }
  cl_program program_ = nullptr;
  std::map<std::string, cl_kernel> kernels_;
};
/* Made while the library loads, outside of every timed call. */
static const cl_int program_ready = program::here().failed;

class commands {
 public:
  commands() : program_(program::here()), failed_(program_ready) {}
  commands(const commands&) = delete;
  commands& operator=(const commands&) = delete;
  ~commands() { (void)finish(); }

  template <class... Arguments>
  void run(const char* name, std::initializer_list<long long> groups, const Arguments&... arguments) {
    if (failed_ != CL_SUCCESS) return;
    const cl_kernel kernel = program_.kernel(name, failed_);
    if (failed_ != CL_SUCCESS) return;
    std::size_t local[3] = {1, 1, 1};
    take(clGetKernelWorkGroupInfo(kernel, program_.device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof local, local, nullptr));
    std::size_t global[3] = {local[0], local[1], local[2]};
    std::size_t dimension = 0;
    for (const long long count : groups) {
      if (count <= 0) return; /* nothing to do */
      if (dimension < 3) global[dimension] = local[dimension] * static_cast<std::size_t>(count);
      ++dimension;
    }
    cl_uint index = 0;
    (set(kernel, index++, arguments), ...);
    if (failed_ == CL_SUCCESS)
      take(clEnqueueNDRangeKernel(program_.queue, kernel, 3, nullptr, global, local, 0, nullptr, nullptr));
  }

  int finish() {
    for (const mapped& one : buffers_) {
      if (!one.written || failed_ != CL_SUCCESS) continue;
      /* What kernels wrote belongs to the host once it is mapped. */
      cl_int failed = CL_SUCCESS;
      void* const at = clEnqueueMapBuffer(program_.queue, one.buffer, CL_TRUE, CL_MAP_READ, 0, one.bytes, 0, nullptr, nullptr, &failed);
      take(failed);
      if (failed == CL_SUCCESS) take(clEnqueueUnmapMemObject(program_.queue, one.buffer, at, 0, nullptr, nullptr));
    }
    if (program_.queue != nullptr) take(clFinish(program_.queue));
    for (const mapped& one : buffers_) clReleaseMemObject(one.buffer);
    buffers_.clear();
    return failed_;
  }

 private:
  struct mapped {
    void* data;
    cl_mem buffer;
    std::size_t bytes;
    bool written;
  };
  void take(cl_int failed) {
    if (failed_ == CL_SUCCESS) failed_ = failed;
  }
  cl_mem buffer_over(void* data, std::size_t bytes, bool written) {
    for (mapped& known : buffers_) {
      if (known.data != data || known.bytes != bytes) continue;
      known.written = known.written || written;
      return known.buffer;
    }
    cl_int failed = CL_SUCCESS;
    const cl_mem made = clCreateBuffer(program_.context, CL_MEM_USE_HOST_PTR | CL_MEM_READ_WRITE, bytes, data, &failed);
    take(failed);
    if (failed == CL_SUCCESS) buffers_.push_back({data, made, bytes, written});
    return made;
  }
  void set_buffer(cl_kernel kernel, cl_uint index, void* data, std::size_t bytes, bool written) {
    const cl_mem buffer = bytes == 0 ? nullptr : buffer_over(data, bytes, written);
    take(clSetKernelArg(kernel, index, sizeof buffer, &buffer));
  }
  void set(cl_kernel kernel, cl_uint index, const input& t) { set_buffer(kernel, index, t.data, t.bytes, false); }
  void set(cl_kernel kernel, cl_uint index, const output& t) { set_buffer(kernel, index, t.data, t.bytes, true); }
  template <class T>
  void set(cl_kernel kernel, cl_uint index, const T& value) {
    take(clSetKernelArg(kernel, index, sizeof value, &value));
  }

  program& program_;
  cl_int failed_;
  std::vector<mapped> buffers_;
};

} /* namespace ks */

#endif
