#include "backends/harness/runner/profile_memory.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "backends/harness/cuda_driver.hpp"

namespace kernsmith::runner {

namespace {

namespace cuda = harness::cuda;

/// Enough to see what a call costs when the host does not wait for each.
constexpr std::size_t device_calls_at_once = 20;

class host_tensors final : public profile_memory {
 public:
  void* place(const void* host, std::size_t) override { return const_cast<void*>(host); }
};

class device_tensors final : public profile_memory {
 public:
  device_tensors(const std::string& library, int ordinal) : ordinal_(ordinal) {
    if (const char* why = driver_.load(library.c_str())) stop("loading the CUDA driver", why);
    void* const handle = ::dlopen(library.c_str(), RTLD_NOW);
    profiler_start_ = reinterpret_cast<plain_call>(::dlsym(handle, "cuProfilerStart"));
    profiler_stop_ = reinterpret_cast<plain_call>(::dlsym(handle, "cuProfilerStop"));
    int device = 0;
    cuda::context_handle context = nullptr;
    check(driver_.init(0), "starting the CUDA driver");
    check(driver_.device_get(&device, ordinal), "finding the device");
    check(driver_.primary_retain(&context, device), "making a context");
    check(driver_.context_set(context), "making a context current");
    check(driver_.stream_create(&stream_, 0), "making a stream");
    check(driver_.event_create(&first_, 0), "making an event");
    check(driver_.event_create(&last_, 0), "making an event");
  }

  void* place(const void* host, std::size_t bytes) override {
    cuda::device_address address = 0;
    check(driver_.memory_allocate(&address, bytes > 0 ? bytes : 1), "taking device memory");
    if (host != nullptr) {
      check(driver_.copy_to_device(address, host, bytes), "copying an input");
    } else {
      check(driver_.set_bytes_async(address, 0, bytes, stream_), "clearing an output");
    }
    return reinterpret_cast<void*>(address);
  }
  void prepare(ks_launch& context) override {
    context.stream = stream_;
    context.device = ordinal_;
  }
  void begin() override {
    check(driver_.context_synchronize(), "waiting for the calls that warm up");
    if (profiler_start_ != nullptr) (void)profiler_start_();
    check(driver_.event_record(first_, stream_), "starting the clock");
  }
  double end_ns() override {
    check(driver_.event_record(last_, stream_), "stopping the clock");
    check(driver_.context_synchronize(), "waiting for the calls");
    if (profiler_stop_ != nullptr) (void)profiler_stop_();
    float elapsed_ms = 0;
    check(driver_.event_elapsed_ms(&elapsed_ms, first_, last_), "reading the clock");
    return static_cast<double>(elapsed_ms) * 1e6;
  }
  std::size_t calls_at_once() const override { return device_calls_at_once; }

 private:
  using plain_call = cuda::status (*)();

  [[noreturn]] static void stop(const char* doing, const char* why) {
    std::fprintf(stderr, "kernsmith-runner profile: %s: %s\n", doing, why);
    std::exit(1);
  }
  void check(cuda::status code, const char* doing) const {
    if (code != cuda::success) stop(doing, driver_.name_of(code));
  }

  cuda::driver driver_;
  int ordinal_;
  plain_call profiler_start_ = nullptr, profiler_stop_ = nullptr;
  cuda::stream_handle stream_ = nullptr;
  cuda::event_handle first_ = nullptr, last_ = nullptr;
};

}  // namespace

std::unique_ptr<profile_memory> profile_on_host() {
  return std::make_unique<host_tensors>();
}

std::unique_ptr<profile_memory> profile_on_device(const std::string& driver, int ordinal) {
  return std::make_unique<device_tensors>(driver, ordinal);
}

}  // namespace kernsmith::runner
