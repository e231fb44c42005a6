#include "backends/harness/runner/opencl_build.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace kernsmith::runner {

namespace {

namespace fs = std::filesystem;

using handle = void*;
constexpr std::uint64_t cpu_device = 2;
constexpr std::uint32_t device_name = 0x102B, driver_version = 0x102D, build_log = 0x1183, kernel_name = 0x1190, argument_count = 0x1191,
                        fixed_group_size = 0x11B1;
constexpr int exit_wrong_source = 1, exit_no_device = 3;
/// Above what any device counts as a small grid.
constexpr std::size_t large_grid_groups = std::size_t{1} << 17;
/// For one kernel's work-group function: optimising a large one takes seconds.
constexpr int compile_looks = 6000, look_us = 10'000;

/// The functions of the OpenCL loader that are needed, by their C names and signatures.
struct opencl_api {
  int (*get_platforms)(std::uint32_t, handle*, std::uint32_t*) = nullptr;
  int (*get_devices)(handle, std::uint64_t, std::uint32_t, handle*, std::uint32_t*) = nullptr;
  int (*device_info)(handle, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  handle (*create_context)(const std::intptr_t*, std::uint32_t, const handle*, handle, handle, int*) = nullptr;
  handle (*create_queue)(handle, handle, std::uint64_t, int*) = nullptr;
  handle (*create_program)(handle, std::uint32_t, const char**, const std::size_t*, int*) = nullptr;
  int (*build)(handle, std::uint32_t, const handle*, const char*, handle, handle) = nullptr;
  int (*build_info)(handle, handle, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  int (*create_kernels)(handle, std::uint32_t, handle*, std::uint32_t*) = nullptr;
  int (*kernel_info)(handle, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  int (*group_info)(handle, handle, std::uint32_t, std::size_t, void*, std::size_t*) = nullptr;
  int (*set_argument)(handle, std::uint32_t, std::size_t, const void*) = nullptr;
  int (*enqueue)(handle, handle, std::uint32_t, const std::size_t*, const std::size_t*, const std::size_t*, std::uint32_t, const handle*,
                 handle*) = nullptr;
  int (*finish)(handle) = nullptr;

  bool open() {
    void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
      return function != nullptr;
    };
    return find("clGetPlatformIDs", get_platforms) && find("clGetDeviceIDs", get_devices) && find("clGetDeviceInfo", device_info) &&
           find("clCreateContext", create_context) && find("clCreateCommandQueue", create_queue) &&
           find("clCreateProgramWithSource", create_program) && find("clBuildProgram", build) &&
           find("clGetProgramBuildInfo", build_info) && find("clCreateKernelsInProgram", create_kernels) &&
           find("clGetKernelInfo", kernel_info) && find("clGetKernelWorkGroupInfo", group_info) && find("clSetKernelArg", set_argument) &&
           find("clEnqueueNDRangeKernel", enqueue) && find("clFinish", finish);
  }
};

std::string text_of_device(const opencl_api& api, handle device, std::uint32_t what) {
  char text[512] = {};
  if (api.device_info(device, what, sizeof text - 1, text, nullptr) != 0) return {};
  return text;
}

/// Has the function of this kernel for its group size come into the cache?
std::size_t compiled_functions(const fs::path& cache, const std::string& kernel) {
  std::error_code failed;
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(cache, failed)) {
    const fs::path& path = entry.path();
    if (path.filename() == kernel + ".so" && path.parent_path().filename().string().find("goffs0") != std::string::npos) ++count;
  }
  return count;
}

struct built_program {
  opencl_api api;
  handle device = nullptr, context = nullptr, queue = nullptr;
  std::vector<handle> kernels;
};

int open_device(built_program& made) {
  handle platform = nullptr;
  int failed = 0;
  if (!made.api.open() || made.api.get_platforms(1, &platform, nullptr) != 0 ||
      made.api.get_devices(platform, cpu_device, 1, &made.device, nullptr) != 0)
    return exit_no_device;
  made.context = made.api.create_context(nullptr, 1, &made.device, nullptr, nullptr, &failed);
  if (failed != 0) return exit_no_device;
  made.queue = made.api.create_queue(made.context, made.device, 0, &failed);
  return failed == 0 ? 0 : exit_no_device;
}

int build_program(const std::string& source, built_program& made) {
  if (const int failed = open_device(made); failed != 0) return failed;
  int failed = 0;
  const char* text = source.data();
  const std::size_t length = source.size();
  const handle program = made.api.create_program(made.context, 1, &text, &length, &failed);
  if (failed == 0) failed = made.api.build(program, 1, &made.device, "", nullptr, nullptr);
  if (failed != 0) {
    std::size_t bytes = 0;
    made.api.build_info(program, made.device, build_log, 0, nullptr, &bytes);
    std::string log(bytes, '\0');
    made.api.build_info(program, made.device, build_log, bytes, log.data(), nullptr);
    std::printf("%s\n", log.c_str());
    return exit_wrong_source;
  }
  std::uint32_t count = 0;
  made.api.create_kernels(program, 0, nullptr, &count);
  if (count == 0) {
    std::printf("error: the source has no __kernel function\n");
    return exit_wrong_source;
  }
  made.kernels.resize(count);
  return made.api.create_kernels(program, count, made.kernels.data(), nullptr) == 0 ? 0 : exit_wrong_source;
}

[[noreturn]] void run_kernel(const std::string& source, std::uint32_t which, std::size_t groups) {
  built_program made;
  if (build_program(source, made) != 0 || which >= made.kernels.size()) std::_Exit(1);
  const handle kernel = made.kernels[which];
  std::size_t group[3] = {1, 1, 1};
  made.api.group_info(kernel, made.device, fixed_group_size, sizeof group, group, nullptr);
  std::uint32_t arguments = 0;
  made.api.kernel_info(kernel, argument_count, sizeof arguments, &arguments, nullptr);
  // Pointers to nothing and zeros; an argument's size is found by trying.
  const char zeros[128] = {};
  for (std::uint32_t i = 0; i < arguments; ++i) {
    for (const std::size_t size : {8, 4, 2, 1, 16, 32, 64, 128}) {
      if (made.api.set_argument(kernel, i, size, zeros) == 0) break;
    }
  }
  const std::size_t global[3] = {group[0] * groups, group[1], group[2]};
  made.api.enqueue(made.queue, kernel, 3, nullptr, global, group, 0, nullptr, nullptr);
  made.api.finish(made.queue);
  std::_Exit(0);
}

/// The device compiles a work-group function when its kernel is first run. It is run in a process of its own that ends as soon as the
/// function is there: without buffers, what the kernel itself does there is of no interest. `functions`: how many of the kernel's there are
/// afterwards.
bool compile_kernel(const fs::path& cache, const std::string& source, std::uint32_t which, const std::string& name, std::size_t groups,
                    std::size_t functions) {
  const pid_t child = ::fork();
  if (child == 0) run_kernel(source, which, groups);
  if (child < 0) return false;
  bool ended = false;
  for (int look = 0; look < compile_looks && !ended && compiled_functions(cache, name) < functions; ++look) {
    ended = ::waitpid(child, nullptr, WNOHANG) == child;
    if (!ended) ::usleep(look_us);
  }
  if (!ended) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  return compiled_functions(cache, name) >= functions;
}

/// Names of the program's kernels, or nothing with the reason printed. In a process of its own, too: the compiler's threads and a fork
/// don't go together.
int list_kernels(const std::string& source, std::vector<std::string>& names) {
  int ends[2];
  if (::pipe(ends) != 0) return exit_no_device;
  const pid_t child = ::fork();
  if (child == 0) {
    built_program made;
    int status = build_program(source, made);
    std::string lines;
    for (const handle kernel : made.kernels) {
      char name[256] = {};
      std::size_t group[3] = {};
      made.api.kernel_info(kernel, kernel_name, sizeof name - 1, name, nullptr);
      made.api.group_info(kernel, made.device, fixed_group_size, sizeof group, group, nullptr);
      if (group[0] == 0) {
        std::printf("error: kernel %s has no __attribute__((reqd_work_group_size(X, Y, Z))); work-groups are compiled for one size\n",
                    name);
        status = exit_wrong_source;
      }
      lines += std::string(name) + '\n';
    }
    if (::write(ends[1], lines.data(), lines.size()) < 0) status = exit_no_device;
    std::fflush(stdout);
    std::_Exit(status);
  }
  ::close(ends[1]);
  std::string all;
  char chunk[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], chunk, sizeof chunk)) > 0;) all.append(chunk, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  for (std::size_t begin = 0, end = 0; (end = all.find('\n', begin)) != std::string::npos; begin = end + 1)
    names.push_back(all.substr(begin, end - begin));
  return WIFEXITED(status) ? WEXITSTATUS(status) : exit_wrong_source;
}

int describe_device() {
  built_program made;
  if (const int failed = open_device(made); failed != 0) return failed;
  std::printf("%s, PoCL %s\n", text_of_device(made.api, made.device, device_name).c_str(),
              text_of_device(made.api, made.device, driver_version).c_str());
  return 0;
}

}  // namespace

int run_opencl_build(int argc, char** argv) {
  if (argc < 3) return describe_device();
  std::ifstream file(argv[2], std::ios::binary);
  const std::string source((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const char* const cache = std::getenv("POCL_CACHE_DIR");
  if (!file || cache == nullptr) return exit_no_device;
  std::vector<std::string> names;
  if (const int failed = list_kernels(source, names); failed != 0) return failed;
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    // The device has one function for small grids and one for all.
    if (compile_kernel(cache, source, i, names[i], 1, 1) && compile_kernel(cache, source, i, names[i], large_grid_groups, 2)) continue;
    std::printf("error: the OpenCL compiler made no work-group function for kernel %s\n", names[i].c_str());
    return exit_wrong_source;
  }
  return 0;
}

}  // namespace kernsmith::runner
