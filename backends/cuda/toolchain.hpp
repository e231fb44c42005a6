// nvcc as a build service: source in, shared object out, built in the sandbox without devices, content-addressed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"

namespace kernsmith::cuda {

using harness::built_kernel;

class toolchain {
 public:
  /// Finds nvcc ($KERNSMITH_NVCC, PATH, /usr/local/cuda/bin). missing_here with the remedy when there is none or it doesn't run.
  /// `architecture`: "sm_90a".
  [[nodiscard]] static result<toolchain> discover(const std::filesystem::path& cache, const std::string& architecture);

  /// Thread-safe. A source that doesn't compile is a built_kernel with an outcome; its log holds the assembler's report on resources.
  [[nodiscard]] result<built_kernel> build(const std::string& source, const std::vector<std::string>& extra_flags,
                                           const std::vector<std::string>& link_flags, double timeout_s) const;
  /// Device code alone, for the driver to load; `library` is then a cubin.
  [[nodiscard]] result<built_kernel> build_device_code(const std::string& source, double timeout_s) const;

  [[nodiscard]] const std::string& compiler() const { return version_; }  ///< "nvcc 13.0.88"
  [[nodiscard]] std::string flags() const;
  [[nodiscard]] const std::filesystem::path& program() const { return program_; }

 private:
  enum class product { library, device_code };
  [[nodiscard]] result<built_kernel> build(product what, const std::string& source, const std::vector<std::string>& extra_flags,
                                           const std::vector<std::string>& link_flags, double timeout_s) const;
  [[nodiscard]] result<built_kernel> compile(product what, const std::vector<std::string>& arguments, const std::string& source,
                                             const std::string& key, double timeout_s, const std::filesystem::path& work) const;

  std::filesystem::path program_, cache_;
  std::string version_, identity_;
  std::vector<std::string> architecture_flags_;
};

}  // namespace kernsmith::cuda
