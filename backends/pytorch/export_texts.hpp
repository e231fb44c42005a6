// The parts of exported files that are the same for every kernel; they travel in the program.
#pragma once

#include <string>

namespace kernsmith::pytorch {

[[nodiscard]] const std::string& exported_kernel_text();  ///< exported_module.py: compiling and calling a kernel
[[nodiscard]] const std::string& exported_model_text();   ///< exported_model.py: class ModelNew

}  // namespace kernsmith::pytorch
