// The seam for trusted kernels that an interpreter hosts: references and baselines in Python. Evaluators know this interface; what is
// behind it is in backends/pytorch.
#pragma once

#include <string>

#include "backends/harness/evaluator.hpp"
#include "backends/harness/runner_client.hpp"
#include "config/problem.hpp"

namespace kernsmith::harness {

/// Thread-safe.
class hosted_kernels {
 public:
  virtual ~hosted_kernels() = default;
  /// Of a problem whose reference is in Python: writes float64 and int64, whatever the outputs are. missing_here, with the remedy, without
  /// an interpreter that has PyTorch; bad_request for a source that is not Python.
  [[nodiscard]] virtual result<built_kernel> reference(const problem& p, bool on_device) = 0;
  /// `builtin` "pytorch" or "torch.compile" (a mode may follow), or a source in Python. Errors as above. `on_device`: on the accelerator.
  [[nodiscard]] virtual result<built_kernel> baseline(const problem& p, const baseline_spec& spec, bool on_device) = 0;
  /// How a baseline was run, for fingerprints: versions and switches.
  [[nodiscard]] virtual std::string describe(const baseline_spec& spec, bool on_device) = 0;
  /// Adds what the process needs that hosts `options.library`, where that is one of these. Other libraries are left as they are.
  virtual void prepare(runner_options& options) const = 0;
};

/// Is this a baseline that hosted_kernels makes?
[[nodiscard]] inline bool is_hosted(const baseline_spec& spec) {
  return spec.source ? spec.source->language == "python" : spec.builtin == "pytorch" || spec.builtin.starts_with("torch.compile");
}

}  // namespace kernsmith::harness
