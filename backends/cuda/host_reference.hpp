// The reference on the host: the definition as generated float64 C++, or the problem's own C++ source. On small shapes it gives what must
// come out, so that the reference on the device is itself tested; for problems with a source of their own it is the only one.
#pragma once

#include <memory>
#include <optional>

#include "backends/cpp/kernel_process.hpp"
#include "backends/cpp/toolchain.hpp"
#include "backends/harness/evaluator.hpp"
#include "config/problem.hpp"

namespace kernsmith::cuda {

class host_reference {
 public:
  [[nodiscard]] static result<std::unique_ptr<host_reference>> build(const problem& p, const harness::evaluator_options& options,
                                                                     cpp::kernel_clock& clock);
  [[nodiscard]] cpp::output_form form() const { return form_; }
  [[nodiscard]] double build_s() const { return build_s_; }
  /// Buffers for `axes`, their inputs to be filled.
  [[nodiscard]] result<std::unique_ptr<cpp::kernel_buffers>> buffers(const std::vector<std::int64_t>& axes) const;
  /// Computes the outputs. bad_request when the problem's own reference fails.
  [[nodiscard]] result<void> compute(cpp::kernel_buffers& buffers);

 private:
  host_reference(const problem& p, const harness::evaluator_options& options, cpp::kernel_clock& clock)
      : p_(p), options_(options), clock_(clock) {}
  const problem& p_;
  harness::evaluator_options options_;
  cpp::kernel_clock& clock_;
  harness::built_kernel built_;
  cpp::output_form form_ = cpp::output_form::native;
  double build_s_ = 0;
  std::optional<cpp::kernel_process> process_;
};

}  // namespace kernsmith::cuda
