// What a CUDA shared object does, as a hash: over the device code that was embedded and the host code around it.
#pragma once

#include <string>

#include "config/error.hpp"

namespace kernsmith::cuda {

struct device_library_facts {
  std::string machine_code;  ///< equal for equal code; comments, formatting and line numbers don't count, names of kernels do
  int device_images = 0;     ///< compiled for a device and embedded
};

/// Reads an ELF64 shared object whose device code was embedded without compression. The file may be hostile: every offset is checked;
/// `corrupt` when it doesn't hold together.
[[nodiscard]] result<device_library_facts> inspect_device_library(const std::string& bytes);

}  // namespace kernsmith::cuda
