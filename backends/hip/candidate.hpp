// HIP candidates on an NVIDIA device: nvcc builds them through HIP's headers for the measurement, and hipcc, where it is here, for the AMD
// devices that they are also meant for.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/candidate_language.hpp"
#include "backends/hip/toolchain.hpp"

namespace kernsmith::hip {

/// $KERNSMITH_HIP_ALSO: architectures with commas between them ("gfx90a,gfx1030"), or "none". Without it: gfx90a, if hipcc is here.
struct also_setting {
  std::vector<std::string> architectures;
  bool required = false;  ///< named by the user, so that a missing hipcc is an error
};
/// bad_request for a name that is no AMD architecture.
[[nodiscard]] result<also_setting> read_also_setting();

class hip_candidates final : public cuda::candidate_language {
 public:
  /// missing_here, with the remedy, without HIP's headers, or without a compiler for an architecture that the user named.
  [[nodiscard]] static result<std::shared_ptr<const hip_candidates>> open(const std::filesystem::path& cache);

  [[nodiscard]] std::string name() const override { return "hip"; }
  [[nodiscard]] cuda::front_end compiled_with() const override;
  [[nodiscard]] result<void> complete(const std::string& source, built_kernel& kernel, double timeout_s) const override;
  [[nodiscard]] std::map<std::string, double> signals(const built_kernel& kernel) const override;

  [[nodiscard]] const std::vector<toolchain>& also() const { return also_; }

 private:
  hip_candidates() = default;

  std::filesystem::path headers_;
  std::vector<toolchain> also_;
};

}  // namespace kernsmith::hip
