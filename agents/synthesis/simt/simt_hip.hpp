// HIP as a dialect of the SIMT emitter: the grammars' text is CUDA C++ that stays within what both languages have, but for the runtime's
// names.
#pragma once

#include <string>
#include <vector>

namespace kernsmith::agents::simt {

/// The includes of an emitted HIP source, for AMD and NVIDIA.
[[nodiscard]] const std::vector<std::string>& hip_include_lines();

/// `text` with the CUDA runtime's names replaced by HIP's. Only whole identifiers, and only those that the emitters write.
[[nodiscard]] std::string with_hip_names(const std::string& text);

}  // namespace kernsmith::agents::simt
