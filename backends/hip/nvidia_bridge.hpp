// nvidia_bridge.h as text: it travels in the program and is put beside each HIP source that nvcc compiles.
#pragma once

#include <string_view>

namespace kernsmith::hip {

[[nodiscard]] std::string_view nvidia_bridge_text();

}  // namespace kernsmith::hip
