// The C++ compiler as a build service: source in, shared object out, built in the sandbox, content-addressed (same source, flags and
// compiler: built once).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/harness/evaluator.hpp"
#include "config/error.hpp"

namespace kernsmith::cpp {

using harness::built_kernel;

/// What one build may take. A compiler that needs more is stopped and the candidate gets the outcome that names the limit.
inline constexpr double build_timeout_s = 90;
inline constexpr std::int64_t max_build_memory_bytes = std::int64_t{4} << 30;
inline constexpr std::size_t max_source_bytes = std::size_t{4} << 20;

using named_texts = std::vector<std::pair<std::string, std::string_view>>;

/// `compiler` ("g++ 10.2.1") has no _Float16 in C++.
[[nodiscard]] bool lacks_half(const std::string& compiler);

class toolchain {
 public:
  /// Finds the compiler ($KERNSMITH_CXX, else g++, else c++). missing_here with the remedy when there is none. `cache` is created; built
  /// objects live there.
  [[nodiscard]] static result<toolchain> discover(const std::filesystem::path& cache);

  /// Thread-safe. Infrastructure faults are errors; a source that doesn't compile is a built_kernel with an outcome. `timeout_s` bounds the
  /// compiler. `companion` is trusted source that is built into the same library, before the candidate's. `beside`: more files in the
  /// folder of the source, by name.
  [[nodiscard]] result<built_kernel> build(const std::string& source, const std::vector<std::string>& extra_flags = {},
                                           const std::vector<std::string>& link_flags = {}, double timeout_s = build_timeout_s,
                                           std::string_view companion = {}, const named_texts& beside = {}) const;
  /// Where the compiler keeps a library of its own ("libasan.so"), all links followed. missing_here when it has none.
  [[nodiscard]] result<std::filesystem::path> own_library(const std::string& name) const;

  [[nodiscard]] const std::string& compiler() const { return compiler_version_; }  ///< "g++ 12.2.0"
  [[nodiscard]] std::string flags() const;                                         ///< "-O3 -march=native -fopenmp ..."

 private:
  [[nodiscard]] result<built_kernel> compile(const std::string& source, const std::string& key, const std::vector<std::string>& extra_flags,
                                             const std::vector<std::string>& link_flags, double timeout_s, std::string_view companion,
                                             const named_texts& beside, const std::filesystem::path& work) const;

  std::filesystem::path program_;
  std::filesystem::path cache_;
  std::string compiler_version_;
  bool lacks_half_ = false;                            ///< it is given half_float.h
  std::string identity_;                               ///< compiler, its full version line, the processor that -march=native means
  std::vector<std::filesystem::path> compiler_paths_;  ///< what the sandbox needs beyond the system's folders
};

}  // namespace kernsmith::cpp
