// Evaluation on a target that its owner describes in a file (config/external_target.hpp): the reference and everything that is judged stays
// on this host, candidates run on the device.
#pragma once

#include <memory>

#include "backends/harness/evaluator.hpp"
#include "config/external_target.hpp"

namespace kernsmith::external {

/// bad_request when the problem is no measure of anything or the target can't take it; missing_here with the remedy when a command of the
/// target isn't here.
[[nodiscard]] result<std::unique_ptr<harness::evaluator>> open_evaluator(const external_target& target, const problem& p,
                                                                         const harness::evaluator_options& options);

}  // namespace kernsmith::external
