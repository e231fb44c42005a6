// Profiling a CUDA kernel: what a call costs when the host does not wait for each, and Nsight Compute's counters for its kernels. What
// can't be read here is listed as missing.
#pragma once

#include <string>

#include "backends/cuda/toolchain.hpp"
#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"

namespace kernsmith::cuda {

/// As cpp::profile_kernel, on this machine's device.
/// `language`: of the source.
[[nodiscard]] result<memory::profile> profile_kernel(const problem& p, const std::string& source, const memory::evaluation& measured,
                                                     const harness::evaluator_options& options, const front_end& language = {});

}  // namespace kernsmith::cuda
