// The evaluation of HIP candidates: on an NVIDIA device, through HIP's NVIDIA headers, by what evaluates CUDA candidates there.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"

namespace kernsmith::hip {

/// "hip/sm_90a" for "hip" and "hip/sm_90a" on a machine with that device. missing_here, with what is missing and the remedy, without a
/// device or HIP's headers, and for AMD devices ("hip/gfx90a"): candidates are built for those, not run.
[[nodiscard]] result<std::string> resolve_target(const std::string& name);

/// As cuda::open_evaluator, for sources in HIP. bad_request for a KERNSMITH_HIP_ALSO that can't be read.
[[nodiscard]] result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const harness::evaluator_options& options);

/// As cuda::profile_kernel, of a source in HIP.
[[nodiscard]] result<memory::profile> profile_kernel(const problem& p, const std::string& source, const memory::evaluation& measured,
                                                     const harness::evaluator_options& options);

/// What this machine has for target hip, tried out: for `kernsmith doctor`.
struct tool_check {
  std::string name;
  bool ok = false;
  std::string detail;  ///< or the remedy
};
[[nodiscard]] std::vector<tool_check> examine_tools(const std::filesystem::path& cache);

}  // namespace kernsmith::hip
