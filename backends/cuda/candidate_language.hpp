// The seam for languages other than CUDA C++ whose sources nvcc builds for this device: HIP through its NVIDIA headers.
#pragma once

#include <map>
#include <string>

#include "backends/cuda/toolchain.hpp"

namespace kernsmith::cuda {

/// Lives as long as the evaluator that it was given to. Thread-safe, as toolchain::build is.
class candidate_language {
 public:
  virtual ~candidate_language() = default;

  /// "hip": also of the problem's sources that may serve as baselines beside those in CUDA.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual front_end compiled_with() const = 0;
  /// After nvcc has built `kernel` from `source`: builds for other devices that a candidate is meant for. A candidate that these refuse
  /// gets an outcome; what is learnt goes to the end of `kernel.log`. Seconds that other compilers took are added to `kernel.build_s`.
  [[nodiscard]] virtual result<void> complete(const std::string& source, built_kernel& kernel, double timeout_s) const = 0;
  /// What complete() has learnt, for the record.
  [[nodiscard]] virtual std::map<std::string, double> signals(const built_kernel& kernel) const = 0;
};

}  // namespace kernsmith::cuda
