// The evaluation of candidates in Python: PyTorch (launch() or ModelNew) and Triton, on the CPU or on this machine's NVIDIA device. Also of
// other languages that live in Python (CuTe DSL, FlyDSL, TLX): a file that imports what is not installed is refused with what is missing.
#pragma once

#include <memory>
#include <string>

#include "backends/harness/evaluator.hpp"

namespace kernsmith::pytorch {

/// "pytorch" or "triton", alone or with a place: "cpu", "cuda", or the device's architecture. Alone: the device where there is one.
/// missing_here, with the remedy, without PyTorch, Triton or the device; bad_request for another device.
[[nodiscard]] result<std::string> resolve_target(const std::string& name);
[[nodiscard]] result<std::unique_ptr<harness::evaluator>> open_evaluator(const std::string& target, const problem& p,
                                                                         const harness::evaluator_options& options);

}  // namespace kernsmith::pytorch
