// The evaluation of CUDA candidates on this machine's device: admit a problem, build, verify, time against the baseline. Drives runners;
// never maps candidate code, and never shares a context with it.
#pragma once

#include <memory>

#include "backends/harness/evaluator.hpp"

namespace kernsmith::cuda {

class candidate_language;

using harness::effort;
using harness::evaluator;
using harness::evaluator_options;

/// "cuda/sm_90a" on this machine. missing_here, with the remedy, without driver, device or nvcc.
[[nodiscard]] result<std::string> target_here();

/// As cpp::open_evaluator. missing_here without driver, device, nvcc or sandbox; bad_request when the problem can't be admitted.
/// `language`: of the candidates; null for CUDA.
[[nodiscard]] result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const evaluator_options& options,
                                                                         std::shared_ptr<const candidate_language> language = nullptr);

}  // namespace kernsmith::cuda
