// The profiler of each target, found by the target's name.
#pragma once

#include <string>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"

namespace kernsmith::backends {

/// Profiles `source` on the first workload of `p`. `measured`: its passed evaluation with that workload's timing. Ids and the diagnosis are
/// the caller's. bad_request for a target without a profiler, or a kernel that doesn't run by itself.
[[nodiscard]] result<memory::profile> profile_kernel(const std::string& target, const problem& p, const std::string& source,
                                                     const memory::evaluation& measured, const harness::evaluator_options& options);

}  // namespace kernsmith::backends
