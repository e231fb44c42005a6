#include "backends/harness/runner/profile_driver.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "backends/harness/kernsmith_kernel.h"
#include "backends/harness/runner/device_timeline.hpp"
#include "backends/harness/runner/profile_memory.hpp"
#include "backends/harness/runner/stack_samples.hpp"

using launch_function = int (*)(const ks_tensor*, int, ks_tensor*, int, ks_launch*);

// Named and kept apart: callgrind collects inside of this function only (--toggle-collect).
extern "C" __attribute__((noipa)) int kernsmith_profiled_call(launch_function launch, const ks_tensor* in, int n_in, ks_tensor* out,
                                                              int n_out, ks_launch* context) {
  const int code = launch(in, n_in, out, n_out, context);
  asm volatile("" ::: "memory");  // keeps the call from becoming a jump
  return code;
}

namespace kernsmith::runner {

namespace {

constexpr std::size_t max_counted_calls = 1'000'000;

struct profile_tensor {
  ks_tensor tensor{};
  std::size_t bytes = 0;
  std::vector<std::int64_t> shape, strides;
};

struct manifest {
  std::string library;
  int threads = 1;
  std::size_t workspace_bytes = 0;
  std::size_t warm = 0, calls = 1;
  double seconds = 0;
  bool sample = false;
  std::string driver;  // of a device; empty: the host
  int ordinal = 0;
  std::string timeline;  // CUPTI's library; empty: none is wanted
  std::vector<std::int64_t> axes;
  std::vector<std::unique_ptr<profile_tensor>> inputs, outputs;  // pinned: the tensors point into them
  std::string fault;                                             // what is wrong with it; empty: nothing
};

double clock_ns(clockid_t which) {
  timespec now{};
  ::clock_gettime(which, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// A file's bytes, or zeroed memory where there is none; private either way. Null with errno when refused.
void* map_bytes(const std::string& path, std::size_t bytes) {
  int file = -1;
  if (!path.empty()) {
    file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return nullptr;
  }
  const int flags = MAP_PRIVATE | MAP_POPULATE | (file < 0 ? MAP_ANONYMOUS : 0);
  void* const mapped = ::mmap(nullptr, std::max<std::size_t>(bytes, 1), PROT_READ | PROT_WRITE, flags, file, 0);
  if (file >= 0) ::close(file);
  return mapped == MAP_FAILED ? nullptr : mapped;
}

std::unique_ptr<profile_tensor> read_tensor(std::istringstream& line, bool has_file, std::string& fault) {
  auto made = std::make_unique<profile_tensor>();
  std::size_t rank = 0;
  line >> made->tensor.dtype >> made->bytes >> rank;
  if (!line || rank > 64) {
    fault = "a tensor of the manifest is cut short";
    return made;
  }
  made->shape.resize(rank);
  for (std::int64_t& extent : made->shape) line >> extent;
  std::string path;
  if (has_file) std::getline(line >> std::ws, path);
  made->strides.resize(rank);
  std::int64_t stride = 1;
  for (std::size_t d = rank; d-- > 0; stride *= made->shape[d]) made->strides[d] = stride;
  made->tensor.data = map_bytes(path, made->bytes);
  if (made->tensor.data == nullptr) fault = "mapping " + (path.empty() ? "an output" : path) + ": " + std::strerror(errno);
  made->tensor.rank = static_cast<std::int32_t>(rank);
  made->tensor.shape = made->shape.data();
  made->tensor.strides = made->strides.data();
  return made;
}

manifest read_manifest(const char* path) {
  manifest m;
  std::ifstream file(path);
  if (!file) m.fault = std::string("reading ") + path + ": " + std::strerror(errno);
  for (std::string text; m.fault.empty() && std::getline(file, text);) {
    std::istringstream line(text);
    std::string key;
    line >> key;
    if (key == "library") {
      std::getline(line >> std::ws, m.library);
    } else if (key == "threads") {
      line >> m.threads;
    } else if (key == "workspace") {
      line >> m.workspace_bytes;
    } else if (key == "warm") {
      line >> m.warm;
    } else if (key == "calls") {
      line >> m.calls;
    } else if (key == "seconds") {
      line >> m.seconds;
    } else if (key == "sample") {
      line >> m.sample;
    } else if (key == "device") {
      line >> m.ordinal;
      std::getline(line >> std::ws, m.driver);
    } else if (key == "timeline") {
      std::getline(line >> std::ws, m.timeline);
    } else if (key == "axes") {
      for (std::int64_t extent = 0; line >> extent;) m.axes.push_back(extent);
    } else if (key == "input") {
      m.inputs.push_back(read_tensor(line, true, m.fault));
    } else if (key == "output") {
      m.outputs.push_back(read_tensor(line, false, m.fault));
    } else if (!key.empty()) {
      m.fault = "unknown entry in the manifest: " + key;
    }
  }
  return m;
}

/// The tensors as the kernel sees them. What a read-only file was mapped for stays where it is on the host.
std::vector<ks_tensor> place(const std::vector<std::unique_ptr<profile_tensor>>& from, profile_memory& memory) {
  std::vector<ks_tensor> all;
  for (const auto& t : from) {
    all.push_back(t->tensor);
    all.back().data = memory.place(t->tensor.data, t->bytes);
  }
  return all;
}

struct run_times {
  std::vector<double> calls_ns;  // where several are made at once: their mean
  std::size_t calls = 0;
  double wall_ns = 0, cpu_ns = 0, event_ns = 0;
};

/// Non-zero when the kernel refuses.
int run_calls(const manifest& m, launch_function launch, ks_launch& context, profile_memory& memory, run_times& times) {
  const std::vector<ks_tensor> in = place(m.inputs, memory);
  std::vector<ks_tensor> out = place(m.outputs, memory);
  const int n_in = static_cast<int>(in.size()), n_out = static_cast<int>(out.size());
  for (std::size_t i = 0; i < m.warm; ++i) {
    if (const int code = launch(in.data(), n_in, out.data(), n_out, &context); code != 0) return code;
  }
  const std::size_t at_once = std::min(memory.calls_at_once(), std::max<std::size_t>(m.calls, 1));
  times.calls_ns.reserve(m.calls);
  memory.begin();
  if (!m.timeline.empty()) {
    if (const char* why = start_timeline(m.timeline)) {
      std::fprintf(stderr, "kernsmith-runner profile: recording a timeline: %s\n", why);
      std::exit(1);
    }
  }
  if (m.sample) start_sampling();
  const double began_ns = clock_ns(CLOCK_MONOTONIC), cpu_began_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  double now_ns = began_ns;
  while (times.calls < m.calls || (now_ns - began_ns < m.seconds * 1e9 && times.calls < max_counted_calls)) {
    if (times.calls > 0 && at_once > 1) {
      memory.begin();
      now_ns = clock_ns(CLOCK_MONOTONIC);
    }
    for (std::size_t i = 0; i < at_once; ++i) {
      if (const int code = kernsmith_profiled_call(launch, in.data(), n_in, out.data(), n_out, &context); code != 0) return code;
    }
    times.event_ns += memory.end_ns();
    const double done_ns = clock_ns(CLOCK_MONOTONIC);
    times.calls_ns.push_back((done_ns - now_ns) / static_cast<double>(at_once));
    times.wall_ns += done_ns - now_ns;
    times.calls += at_once;
    now_ns = done_ns;
  }
  times.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_began_ns;
  if (m.sample) stop_sampling();
  return 0;
}

bool write_report(const char* path, const manifest& m, run_times times) {
  std::FILE* const report = std::fopen(path, "w");
  if (report == nullptr) return false;
  const auto middle = times.calls_ns.begin() + static_cast<std::ptrdiff_t>(times.calls_ns.size() / 2);
  std::nth_element(times.calls_ns.begin(), middle, times.calls_ns.end());
  std::fprintf(report, "calls %zu\ncall_ns %.1f\nwall_ns %.1f\ncpu_ns %.1f\nevent_ns %.1f\n", times.calls, *middle, times.wall_ns,
               times.cpu_ns, times.event_ns);
  if (!m.timeline.empty()) write_timeline(report);
  if (m.sample) write_samples(report);
  return std::fclose(report) == 0;
}

int give_up(const std::string& why) {
  std::fprintf(stderr, "kernsmith-runner profile: %s\n", why.c_str());
  return 1;
}

}  // namespace

int run_profile(int argc, char** argv) {
  if (argc != 4) return give_up("expected a manifest and a report");
  const manifest m = read_manifest(argv[2]);
  if (!m.fault.empty()) return give_up(m.fault);
  const auto memory = m.driver.empty() ? profile_on_host() : profile_on_device(m.driver, m.ordinal);
  void* const handle = ::dlopen(m.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return give_up(::dlerror());
  const auto launch = reinterpret_cast<launch_function>(::dlsym(handle, "launch"));
  if (launch == nullptr) return give_up("the library has no function `launch` with C linkage");
  ks_launch context{};
  context.threads = m.threads;
  context.workspace_bytes = m.workspace_bytes;
  if (m.workspace_bytes > 0) {
    void* const room = map_bytes("", m.workspace_bytes);
    if (room == nullptr) return give_up(std::string("making the workspace: ") + std::strerror(errno));
    context.workspace = memory->place(room, m.workspace_bytes);
  }
  context.axes = m.axes.data();
  context.n_axes = static_cast<std::int32_t>(m.axes.size());
  memory->prepare(context);
  run_times times;
  if (const int code = run_calls(m, launch, context, *memory, times); code != 0)
    return give_up("the kernel refused the call with code " + std::to_string(code));
  return write_report(argv[3], m, std::move(times)) ? 0 : give_up(std::string("writing the report: ") + std::strerror(errno));
}

}  // namespace kernsmith::runner
