#include "backends/opencl/evaluator.hpp"

#include <fmt/format.h>

#include "backends/cpp/evaluator.hpp"
#include "backends/opencl/toolchain.hpp"

namespace kernsmith::opencl {

namespace {

constexpr const char* target = "opencl/cpu";

}  // namespace

result<std::string> resolve_target(const std::string& name) {
  if (name != "opencl" && name != target)
    return fail(fault::bad_request, fmt::format("target '{}' can't be measured here: OpenCL runs on the CPU; use --target opencl", name));
  if (auto device = find_device(); !device) return tl::unexpected(device.error());
  return target;
}

result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const harness::evaluator_options& options) {
  if (options.strict)
    return fail(fault::missing_here, "--strict needs sanitizers, which PoCL's compiler does not have; leave it out, or use --target cpp");
  auto language = open_language(options.cache);
  if (!language) return tl::unexpected(language.error());
  return cpp::open_evaluator(p, options, std::move(*language));
}

}  // namespace kernsmith::opencl
