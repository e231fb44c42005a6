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

/// Can any baseline of `p` run on `target`? Not where the problem has a C++ reference and nothing that a device could run.
[[nodiscard]] bool has_baseline_for(const std::string& target, const problem& p);
/// `p` with the kernel that is to be profiled as its own baseline: what limits a kernel can be told without anything to compare it with.
/// Its answers are held against the reference all the same.
[[nodiscard]] problem with_itself_as_baseline(const std::string& target, const problem& p, const std::string& source);

/// Source of the baseline that speed-up is counted against, as profile_kernel() takes it; empty where the baseline is a library, or written
/// in another language than the target's.
[[nodiscard]] std::string baseline_source(const std::string& target, const problem& p);

}  // namespace kernsmith::backends
