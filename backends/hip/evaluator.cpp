#include "backends/hip/evaluator.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "backends/cuda/device.hpp"
#include "backends/cuda/evaluator.hpp"
#include "backends/cuda/profiler.hpp"
#include "backends/hip/candidate.hpp"
#include "backends/hip/profile_rocprof.hpp"

namespace kernsmith::hip {

namespace {

/// The kernel driver's node, which is there on machines with an AMD device.
constexpr const char* amd_driver_node = "/dev/kfd";

std::string amd_devices_here() {
  std::error_code failed;
  return std::filesystem::exists(amd_driver_node, failed) ? "the AMD device of this machine is not used: candidates are built for AMD "
                                                            "devices, which reports their registers and memory, "
                                                            "and run on NVIDIA devices only"
                                                          : fmt::format("this machine has no AMD device ({} is absent)", amd_driver_node);
}

}  // namespace

result<std::string> resolve_target(const std::string& name) {
  const std::string device = name.find('/') == std::string::npos ? "" : name.substr(name.find('/') + 1);
  if (device.starts_with("gfx")) {
    return fail(fault::missing_here,
                fmt::format("target '{}' can't be measured here: {}; --target hip measures HIP sources on an NVIDIA device and builds them "
                            "for {} as well (KERNSMITH_HIP_ALSO={})",
                            name, amd_devices_here(), device, device));
  }
  const auto found = cuda::describe_device();
  if (!found) {
    return fail(found.error().kind, fmt::format("target hip needs a device to run on: {}; and of NVIDIA's devices: {}", amd_devices_here(),
                                                found.error().message));
  }
  if (const auto headers = find_headers(); !headers) return tl::unexpected(headers.error());
  std::string here = "hip/" + found->architecture;
  if (name == "hip" || name == here) return here;
  return fail(fault::bad_request,
              fmt::format("target '{}' can't be measured here: this machine's device is {}; use --target hip", name, here));
}

result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const harness::evaluator_options& options) {
  auto language = hip_candidates::open(options.cache);
  if (!language) return tl::unexpected(language.error());
  return cuda::open_evaluator(p, options, std::move(*language));
}

result<memory::profile> profile_kernel(const problem& p, const std::string& source, const memory::evaluation& measured,
                                       const harness::evaluator_options& options) {
  auto language = hip_candidates::open(options.cache);
  if (!language) return tl::unexpected(language.error());
  return cuda::profile_kernel(p, source, measured, options, (*language)->compiled_with());
}

std::vector<tool_check> examine_tools(const std::filesystem::path& cache) {
  std::vector<tool_check> checks;
  const auto headers = find_headers();
  checks.push_back({"HIP headers", headers.has_value(), headers ? headers->string() : headers.error().message});
  const auto wanted = read_also_setting();
  if (!wanted) checks.push_back({"hipcc", false, wanted.error().message});
  if (!wanted) return checks;
  for (const std::string& architecture : wanted->architectures) {
    const auto compiler = toolchain::discover(cache, architecture);
    checks.push_back({fmt::format("hipcc for {}", architecture), compiler.has_value(),
                      compiler ? fmt::format("{} ({})", compiler->program().string(), compiler->compiler()) : compiler.error().message});
  }
  const auto profiler = find_rocprof();
  checks.push_back({"profiler: rocprof", profiler.has_value(), profiler ? profiler->program.string() : missing_rocprof().reason});
  return checks;
}

}  // namespace kernsmith::hip
