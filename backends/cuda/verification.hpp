// One check of a kernel on the device: call it on poisoned buffers and judge everything it left behind.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpp/verification.hpp"
#include "backends/cuda/kernel_process.hpp"
#include "backends/cuda/trusted_kernels.hpp"
#include "config/input_values.hpp"

namespace kernsmith::cuda {

using cpp::axes_text;
using cpp::check_result;

/// One shape with one content, and what must come out. `oracle` holds the pristine inputs and the expected outputs, on the device.
struct test_case {
  std::string what;
  std::vector<std::int64_t> axes;
  content kind = content::as_declared;
  std::uint64_t seed = 0;
  std::unique_ptr<device_buffers> oracle;
  harness::expected_form form = harness::expected_form::wide;
  std::vector<compare_spec> specs;  ///< per output
  double budget_scale = 1;
  bool doubtful = false;       ///< the references on host and device disagree about it
  double precision_limit = 0;  ///< in units of the budget; 0: none stated
};

/// Looks at buffers with trusted device code. Everything it refers to outlives it.
struct judge {
  const problem& p;
  trusted_kernels& trusted;

  /// Slack and outputs filled, inputs as in `from`.
  [[nodiscard]] result<void> prepare(const device_buffers& from, const device_buffers& buffers, harness::poison pattern);
  /// Compares all outputs; `pattern` tells unwritten elements from wrong ones.
  [[nodiscard]] result<check_result> outputs(const std::vector<compare_spec>& specs, const device_buffers& got,
                                             const device_buffers& expected, harness::expected_form form, harness::poison pattern,
                                             double scale);
  /// `out_of_bounds` or `input_modified`, or nothing. `pristine` has the inputs as they were.
  [[nodiscard]] result<check_result> surroundings(const device_buffers& got, const device_buffers& pristine);
  /// Why outputs are wrong, where the process itself shows it: `cheating` or `nondeterministic`; else `check` as it is.
  [[nodiscard]] result<check_result> look_behind(check_result check, const std::vector<compare_spec>& specs, kernel_process& process,
                                                 device_buffers& buffers, double timeout_s);
  /// Does the kernel keep to the stream that it was given? `others` has the axes of the case, `own` is a second set of them. `wrong_values`
  /// where it works beside the stream: on inputs that have not arrived, or after its outputs were read.
  [[nodiscard]] result<check_result> stream_order(const test_case& c, kernel_process& process, device_buffers& others, device_buffers& own,
                                                  double timeout_s);
  /// The whole check.
  [[nodiscard]] result<check_result> kernel(const test_case& c, kernel_process& process, device_buffers& buffers, harness::poison pattern,
                                            double timeout_s);
};

}  // namespace kernsmith::cuda
