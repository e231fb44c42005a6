// What this machine has for target cuda, tried out: for `kernsmith doctor`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace kernsmith::cuda {

struct device_check {
  std::string name;
  bool ok = false;
  std::string detail;  ///< or the remedy
};

/// Device and driver, compiler, a kernel that is built and launched in the sandbox, the management library. What follows from something
/// missing is left out.
[[nodiscard]] std::vector<device_check> examine_device(const std::filesystem::path& cache);

}  // namespace kernsmith::cuda
