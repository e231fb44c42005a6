// Where CUPTI is: the library through which a process learns what its work did on the device.
#pragma once

#include <filesystem>
#include <optional>

namespace kernsmith::cuda {

/// That of the toolkit, or of the system.
[[nodiscard]] std::optional<std::filesystem::path> find_cupti();

}  // namespace kernsmith::cuda
