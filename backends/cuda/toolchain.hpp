// nvcc as a build service: source in, shared object out, built in the sandbox without devices, content-addressed.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"

namespace kernsmith::cuda {

using harness::built_kernel;

/// How sources in another language than CUDA C++ become what nvcc compiles.
struct front_end {
  std::vector<std::string> flags;                            ///< of sources in that language
  std::vector<std::pair<std::string, std::string>> headers;  ///< name in the folder of the build, text
  std::vector<std::filesystem::path> readable;               ///< folders of further headers
};

class toolchain {
 public:
  /// Finds nvcc ($KERNSMITH_NVCC, PATH, /usr/local/cuda/bin). missing_here with the remedy when there is none or it doesn't run.
  /// `architecture`: "sm_90a".
  [[nodiscard]] static result<toolchain> discover(const std::filesystem::path& cache, const std::string& architecture,
                                                  front_end language = {});

  /// Thread-safe. A source that doesn't compile is a built_kernel with an outcome; its log holds the assembler's report on resources.
  [[nodiscard]] result<built_kernel> build(const std::string& source, const std::vector<std::string>& extra_flags,
                                           const std::vector<std::string>& link_flags, double timeout_s) const;
  /// As build(), of a source in the front end's language.
  [[nodiscard]] result<built_kernel> build_candidate(const std::string& source, double timeout_s,
                                                     const std::vector<std::string>& link_flags = {}) const;
  /// Device code alone, for the driver to load; `library` is then a cubin.
  [[nodiscard]] result<built_kernel> build_device_code(const std::string& source, double timeout_s) const;

  [[nodiscard]] const std::string& compiler() const { return version_; }  ///< "nvcc 13.0.88"
  [[nodiscard]] std::string flags() const;
  /// Where the toolkit keeps its mathematical libraries; empty where they lie beside the system's own.
  [[nodiscard]] std::filesystem::path library_folder() const;
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
  front_end language_;
};

}  // namespace kernsmith::cuda
