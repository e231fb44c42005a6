#include "backends/cuda/device_probe.hpp"

#include <fmt/format.h>

#include "backends/cpp/machine_facts.hpp"
#include "backends/cuda/device.hpp"
#include "backends/cuda/device_monitor.hpp"
#include "backends/cuda/kernel_process.hpp"
#include "backends/cuda/toolchain.hpp"
#include "backends/harness/device_lease.hpp"

namespace kernsmith::cuda {

namespace {

constexpr double build_timeout_s = 60, call_timeout_s = 20, lease_patience_s = 30;

constexpr const char* tiny_kernel = R"(#include "kernsmith_kernel.h"
#include <cuda_runtime.h>
__global__ void tiny(int* place) { place[threadIdx.x] = 1; }
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch* ctx) {
  tiny<<<1, 32, 0, static_cast<cudaStream_t>(ctx->stream)>>>(static_cast<int*>(ctx->workspace));
  return static_cast<int>(cudaGetLastError());
})";

/// A real launch is the proof: that the device is listed says little about whether a sandboxed process may use it.
device_check launch_in_sandbox(const toolchain& compiler) {
  device_check check{"CUDA in the sandbox", false, ""};
  const auto fails = [&](const std::string& why) {
    check.detail = why;
    return check;
  };
  const auto found = describe_device();
  if (!found) return fails(found.error().message);
  harness::lease_terms terms;
  terms.patience_s = lease_patience_s;
  const auto hold = harness::device_lease::acquire(found->uuid, terms);
  if (!hold) return fails(hold.error().message);
  auto on = device::open();
  if (!on) return fails(on.error().message);
  const auto built = compiler.build(tiny_kernel, {}, {}, build_timeout_s);
  if (!built) return fails(built.error().message);
  if (!built->outcome.empty()) return fails(fmt::format("a tiny kernel does not build: {}", built->detail));
  harness::runner_options runner;
  runner.library = built->library;
  runner.cores = cpp::usable_cores();
  runner.accelerator = (*on)->access();
  runner.environment = (*on)->environment();
  kernel_clock clock;
  auto process = kernel_process::start(runner, clock);
  if (!process) return fails(process.error().message);
  device_buffers none;
  auto called = process->call({&none}, call_timeout_s);
  if (!called) return fails(called.error().message);
  if (called->status != harness::call_status::ok)
    return fails(fmt::format("a tiny kernel does not run there ({}): {}", outcome_of(called->status), called->detail));
  check.ok = true;
  check.detail = fmt::format("a kernel was built and launched; an empty batch takes {:.0f} us", process->empty_call_ns() * 1e-3);
  return check;
}

}  // namespace

std::vector<device_check> examine_device(const std::filesystem::path& cache) {
  std::vector<device_check> checks;
  const auto found = describe_device();
  if (!found) {
    checks.push_back({"CUDA device", false, found.error().message});
    return checks;
  }
  checks.push_back({"CUDA device", true,
                    fmt::format("{}, {}, {} multiprocessors, {} MiB of second-level cache; {}", found->name, found->architecture,
                                found->facts.multiprocessors, found->facts.l2_bytes >> 20, found->driver)});
  const auto compiler = toolchain::discover(cache, found->architecture);
  checks.push_back({"CUDA compiler", compiler.has_value(),
                    compiler ? fmt::format("{} ({}), {}", compiler->compiler(), compiler->program().string(), compiler->flags())
                             : compiler.error().message});
  if (compiler) checks.push_back(launch_in_sandbox(*compiler));
  const device_state state = device_monitor::of(found->uuid).look();
  checks.push_back(
      {"CUDA clocks", state.known,
       state.known ? fmt::format("{} MHz now, {} MHz at most, {} C{}", state.sm_mhz, found->facts.clock_khz / 1000, state.temperature_c,
                                 state.slowed_down() ? ", slowed down by heat or power" : "")
                   : "the management library (libnvidia-ml.so.1) does not answer; blocks in which the device slows down can't be told"});
  return checks;
}

}  // namespace kernsmith::cuda
