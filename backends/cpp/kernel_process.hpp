// Buffers of one call and the runner process that is called on them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/harness/runner_client.hpp"
#include "backends/harness/shared_buffer.hpp"
#include "config/problem.hpp"

namespace kernsmith::cpp {

/// What a process writes: elements of the outputs' own dtypes, or (the generated reference) float64 and int64.
enum class output_form : std::uint8_t { native, wide };

/// All tensors of one call under one set of axes. Pinned in memory: runners and bindings refer to it.
struct kernel_buffers {
  std::vector<std::int64_t> axes;
  std::vector<harness::shared_buffer> inputs, outputs;
  harness::buffer_set set;

  kernel_buffers() = default;
  kernel_buffers(const kernel_buffers&) = delete;
  kernel_buffers& operator=(const kernel_buffers&) = delete;
  [[nodiscard]] std::size_t input_bytes() const;
  [[nodiscard]] std::size_t output_bytes() const;
};

[[nodiscard]] result<std::unique_ptr<kernel_buffers>> make_buffers(const problem& p, const std::vector<std::int64_t>& axes,
                                                                   harness::guard_side side, output_form form);
/// Bytes that make_buffers would take, without slack.
[[nodiscard]] std::size_t buffer_bytes(const problem& p, const std::vector<std::int64_t>& axes, output_form form);
/// Copies input contents from one set of buffers to another of the same axes.
void copy_inputs(const kernel_buffers& from, kernel_buffers& to, int threads = 1);

/// Seconds that kernels have taken by the outside clock. Shared by all processes of an evaluator.
struct kernel_clock {
  double kernel_s = 0;
};

/// What a process does once it has answered.
enum class after_call : std::uint8_t {
  runs_on,
  stands_still,  ///< until it is called again: what the buffers hold is what they held at the answer
};

/// One runner and the buffers it has been told of. Movable, not thread-safe.
class kernel_process {
 public:
  [[nodiscard]] static result<kernel_process> start(const harness::runner_options& options, kernel_clock& clock);
  /// Calls launch on each of `sets` in one batch. A set is made known at its first use and must outlive the process.
  [[nodiscard]] result<harness::call_result> call(const std::vector<kernel_buffers*>& sets, double timeout_s,
                                                  after_call after = after_call::runs_on);
  /// Another process with the same library, as new as the first: where an interpreter hosts the kernel. False elsewhere: start() another.
  [[nodiscard]] result<bool> renew();
  /// Unmaps all buffers; sets are made known again at their next use. Needed before sets are destroyed while the process lives on.
  [[nodiscard]] result<void> forget_sets();
  /// Lets a process that stands still run on.
  void thaw() { runner_->thaw(); }
  /// False when a process that was to stand still did not: it had itself continued.
  [[nodiscard]] bool stayed_frozen() const { return runner_->stayed_frozen(); }
  [[nodiscard]] std::string what_moved() const { return runner_->what_moved(); }
  [[nodiscard]] std::vector<harness::executable_mapping> executable_mappings() const { return runner_->executable_mappings(); }
  /// Waits, outside any clock, until the process uses no CPU time; false if it still does after `timeout_s`.
  [[nodiscard]] bool settle(double timeout_s) { return runner_->settle(timeout_s); }
  /// CPU time of all its threads since it began.
  [[nodiscard]] double cpu_ns() const { return runner_->cpu_ns(); }
  [[nodiscard]] bool alive() const { return runner_->alive(); }
  [[nodiscard]] std::string output_tail() { return runner_->output_tail(); }
  [[nodiscard]] double empty_call_ns() { return runner_->empty_call_ns(); }

 private:
  std::unique_ptr<harness::runner_client> runner_;
  std::map<const kernel_buffers*, int> numbers_;
  bool outputs_follow_ = false;
  bool renewable_ = false;
  double new_set_allowance_s_ = 0;
  kernel_clock* clock_ = nullptr;
};

/// Outcome word of EVALUATION.md for a call that did not return; empty for ok.
[[nodiscard]] std::string outcome_of(harness::call_status status);

}  // namespace kernsmith::cpp
