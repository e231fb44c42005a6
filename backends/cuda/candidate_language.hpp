// The seam for languages other than CUDA C++ whose sources nvcc builds for this device: HIP through its NVIDIA headers.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "backends/cuda/toolchain.hpp"
#include "backends/harness/runner_client.hpp"

namespace kernsmith::cuda {

/// Lives as long as the evaluator that it was given to. Thread-safe, as toolchain::build is.
class candidate_language {
 public:
  virtual ~candidate_language() = default;

  /// "hip": also of the problem's sources that may serve as baselines beside those in CUDA.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual front_end compiled_with() const = 0;
  /// Builds by other means than nvcc; nothing: nvcc does it.
  [[nodiscard]] virtual std::optional<result<built_kernel>> build(const std::string& source, double timeout_s) const {
    return (void)source, (void)timeout_s, std::nullopt;
  }
  /// Adds what the process that hosts a candidate's `library` needs. Libraries of other languages are left as they are.
  virtual void prepare(harness::runner_options& options) const { (void)options; }
  /// May a process that hosts a candidate execute `file`?
  [[nodiscard]] virtual bool may_execute(const std::filesystem::path& file) const { return (void)file, false; }
  /// Does it make machine code while it runs, which no file stands behind?
  [[nodiscard]] virtual bool may_generate_code() const { return false; }
  /// After nvcc has built `kernel` from `source`: builds for other devices that a candidate is meant for. A candidate that these refuse
  /// gets an outcome; what is learnt goes to the end of `kernel.log`. Seconds that other compilers took are added to `kernel.build_s`.
  [[nodiscard]] virtual result<void> complete(const std::string& source, built_kernel& kernel, double timeout_s) const = 0;
  /// What complete() has learnt, for the record.
  [[nodiscard]] virtual std::map<std::string, double> signals(const built_kernel& kernel) const = 0;
};

}  // namespace kernsmith::cuda
