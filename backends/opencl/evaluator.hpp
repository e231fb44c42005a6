// The evaluation of OpenCL candidates on PoCL's CPU device: that of C++ candidates (backends/cpp), with another compiler.
#pragma once

#include <memory>
#include <string>

#include "backends/harness/evaluator.hpp"

namespace kernsmith::opencl {

/// "opencl/cpu" for "opencl" and itself; missing_here without a device, bad_request for another name.
[[nodiscard]] result<std::string> resolve_target(const std::string& name);
[[nodiscard]] result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const harness::evaluator_options& options);

}  // namespace kernsmith::opencl
