// Targets by name: language x device class, e.g. "cpp/x86-64-v4". The one place that knows every folder of backends/.
#pragma once

#include <memory>
#include <string>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"
#include "config/problem.hpp"

namespace kernsmith::backends {

/// "cpp" of "cpp/x86-64-v4".
[[nodiscard]] std::string language_of(const std::string& target);

/// What candidates for a resolved target are written in: "cpp", "cuda", "c" ...
[[nodiscard]] std::string source_language_of(const std::string& target);

/// A language, or a whole name -> the whole name on this machine: "cpp" -> "cpp/<instruction level>". bad_request for unknown names (with
/// the nearest) and for another machine's device class; missing_here, with the remedy, where the device or its compiler is absent.
[[nodiscard]] result<std::string> resolve_target(const std::string& name);

/// Does a resolved target run its kernels on a device of its own, so that this machine's processors are free to build meanwhile?
[[nodiscard]] bool has_own_device(const std::string& target);

/// Admits `p` on a resolved target.
[[nodiscard]] result<std::unique_ptr<harness::evaluator>> open_evaluator(const std::string& target, const problem& p,
                                                                         const harness::evaluator_options& options);

}  // namespace kernsmith::backends
