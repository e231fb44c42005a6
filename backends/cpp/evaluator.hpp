// The evaluation of CPU candidates: admit a problem, build, verify, time against the baseline. Drives runners; never maps candidate code.
#pragma once

#include <memory>

#include "backends/cpp/candidate_language.hpp"
#include "backends/cpp/toolchain.hpp"
#include "backends/harness/evaluator.hpp"

namespace kernsmith::cpp {

using harness::effort;
using harness::evaluator;
using harness::evaluator_options;

/// Builds reference and baselines, computes expected outputs, checks the reference against itself and that null candidates (zeros, copied
/// input, other seed's answer) fail. bad_request when the problem can't be admitted (with the reason); missing_here without compiler or
/// sandbox. `language`: of the candidates, when it isn't C++.
[[nodiscard]] result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const evaluator_options& options,
                                                                         std::unique_ptr<candidate_language> language = nullptr);

}  // namespace kernsmith::cpp
