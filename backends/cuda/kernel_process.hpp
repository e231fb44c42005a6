// A runner in device mode and the device buffers it has been told of.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/cpp/kernel_process.hpp"
#include "backends/cuda/device_buffers.hpp"
#include "backends/harness/runner_client.hpp"

namespace kernsmith::cuda {

using cpp::after_call;
using cpp::kernel_clock;
using cpp::outcome_of;

/// Movable, not thread-safe.
class kernel_process {
 public:
  [[nodiscard]] static result<kernel_process> start(const harness::runner_options& options, kernel_clock& clock);
  /// In a runner that was begun before.
  [[nodiscard]] static result<kernel_process> start(harness::vacant_runner& runner, const std::filesystem::path& library,
                                                    kernel_clock& clock);
  /// Calls launch on each of `sets` in one batch; at the answer the process's whole context is idle. A set is made known at its first use
  /// and must outlive the process.
  [[nodiscard]] result<harness::call_result> call(const std::vector<device_buffers*>& sets, double timeout_s,
                                                  after_call after = after_call::runs_on);
  /// Have timed() replay graphs (problem::replay) from now on.
  void replay_graphs() { replays_ = true; }
  /// Before timed(): launch is captured on each of `sets` that it was not captured on before. Contents that are timed must be renewed
  /// afterwards, since a kernel may look at them here. Nothing is done unless graphs are replayed.
  [[nodiscard]] result<harness::call_result> prepare_timed(const std::vector<device_buffers*>& sets, double timeout_s);
  /// call(), or the replay of what was captured of each set.
  [[nodiscard]] result<harness::call_result> timed(const std::vector<device_buffers*>& sets, double timeout_s);
  /// Device time of one call on `set`, as timed() makes it; see runner_client::device_time. The last thing that a process is used for.
  [[nodiscard]] result<harness::call_result> device_time(device_buffers& set, const std::filesystem::path& cupti, double timeout_s);
  /// One call on `own` amid other work on its stream; see runner_client::call_in_stream.
  [[nodiscard]] result<harness::call_result> call_in_stream(device_buffers& others, device_buffers& own, double timeout_s);
  /// Has the device switched to this process and its work done: what is timed next doesn't pay for it.
  [[nodiscard]] result<harness::call_result> touch(double timeout_s) { return call({}, timeout_s); }
  [[nodiscard]] result<void> forget_sets();
  /// Has the process stand still until thaw() or the next call.
  void freeze() {
    if (runner_->alive()) (void)runner_->freeze();
  }
  void thaw() { runner_->thaw(); }
  [[nodiscard]] bool stayed_frozen() const { return runner_->stayed_frozen(); }
  [[nodiscard]] std::string what_moved() const { return runner_->what_moved(); }
  [[nodiscard]] std::vector<harness::executable_mapping> executable_mappings() const { return runner_->executable_mappings(); }
  [[nodiscard]] double cpu_ns() const { return runner_->cpu_ns(); }
  [[nodiscard]] bool alive() const { return runner_->alive(); }
  /// Outside time of a batch without calls: the message, one tiny piece of work, the wait for it.
  [[nodiscard]] double empty_call_ns() { return runner_->empty_call_ns(); }

 private:
  static kernel_process around(std::unique_ptr<harness::runner_client> runner, kernel_clock& clock);
  [[nodiscard]] result<int> number_of(const device_buffers& set);
  [[nodiscard]] result<std::vector<int>> numbers_of(const std::vector<device_buffers*>& sets);
  [[nodiscard]] result<harness::call_result> counted(harness::call_result answer);

  std::unique_ptr<harness::runner_client> runner_;
  std::map<const device_buffers*, int> numbers_;
  std::set<const device_buffers*> captured_;
  bool replays_ = false;
  kernel_clock* clock_ = nullptr;
  bool outputs_follow_ = false;
  double new_set_allowance_s_ = 0;
};

}  // namespace kernsmith::cuda
