// hipcc as a build service for AMD devices: source in, shared object with code objects out, built in the sandbox, content-addressed. And
// where HIP's headers are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"

namespace kernsmith::hip {

using harness::built_kernel;

/// The folder that holds hip/hip_runtime.h and what it needs for NVIDIA devices ($KERNSMITH_HIP_HEADERS, $ROCM_PATH/include,
/// /opt/rocm/include, /usr/include). missing_here with the remedy.
[[nodiscard]] result<std::filesystem::path> find_headers();

class toolchain {
 public:
  /// Finds hipcc ($KERNSMITH_HIPCC, PATH, /opt/rocm/bin). missing_here, with the remedy, when there is none, it doesn't run, or it doesn't
  /// know `architecture` ("gfx90a").
  [[nodiscard]] static result<toolchain> discover(const std::filesystem::path& cache, const std::string& architecture);

  /// Thread-safe. A source that doesn't compile, or whose kernels are over the device's limits, is a built_kernel with an outcome. The log
  /// ends with report_of() its kernels.
  [[nodiscard]] result<built_kernel> build(const std::string& source, double timeout_s) const;

  [[nodiscard]] const std::string& compiler() const { return version_; }  ///< "HIP 5.2.21153-0"
  [[nodiscard]] const std::string& architecture() const { return architecture_; }
  [[nodiscard]] const std::filesystem::path& program() const { return program_; }

 private:
  [[nodiscard]] result<built_kernel> compile(const std::vector<std::string>& arguments, const std::string& source, const std::string& key,
                                             double timeout_s, const std::filesystem::path& work) const;
  [[nodiscard]] result<void> examine(const std::string& library, built_kernel& kernel) const;

  std::filesystem::path program_, cache_;
  std::string version_, identity_, architecture_;
};

}  // namespace kernsmith::hip
