// The profiler of each target, found by the target's name.
#pragma once

#include <string>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"

namespace kernsmith::backends {

/// A profiler knows this target.
[[nodiscard]] bool has_profiler(const std::string& target);

/// Profiles `source` on the first workload of `p`. `measured`: its passed evaluation with that workload's timing. Ids and the diagnosis are
/// the caller's. bad_request for a target without a profiler, or a kernel that doesn't run by itself.
[[nodiscard]] result<memory::profile> profile_kernel(const std::string& target, const problem& p, const std::string& source,
                                                     const memory::evaluation& measured, const harness::evaluator_options& options);

/// Source of the baseline that speed-up is counted against, as profile_kernel() takes it; empty where the baseline is a library, or written
/// in another language than the target's.
[[nodiscard]] std::string baseline_source(const std::string& target, const problem& p);

}  // namespace kernsmith::backends
