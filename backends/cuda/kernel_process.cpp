#include "backends/cuda/kernel_process.hpp"

#include <fmt/format.h>

namespace kernsmith::cuda {

result<kernel_process> kernel_process::start(const harness::runner_options& options, kernel_clock& clock) {
  auto runner = harness::runner_client::start(options);
  if (!runner) return tl::unexpected(runner.error());
  kernel_process process = around(std::move(*runner), clock);
  process.outputs_follow_ = options.trusted && options.outputs_follow;
  process.new_set_allowance_s_ = options.new_set_allowance_s;
  return process;
}

result<kernel_process> kernel_process::start(harness::vacant_runner& runner, const std::filesystem::path& library, kernel_clock& clock) {
  auto loaded = runner.load(library);
  if (!loaded) return tl::unexpected(loaded.error());
  return around(std::move(*loaded), clock);
}

kernel_process kernel_process::around(std::unique_ptr<harness::runner_client> runner, kernel_clock& clock) {
  kernel_process process;
  process.runner_ = std::move(runner);
  process.clock_ = &clock;
  return process;
}

result<void> kernel_process::forget_sets() {
  runner_->thaw();
  numbers_.clear();
  captured_.clear();
  return runner_->drop_sets();
}

result<int> kernel_process::number_of(const device_buffers& set) {
  auto known = numbers_.find(&set);
  if (known == numbers_.end()) {
    auto number = runner_->add_set(set.set);
    if (!number) return number;
    known = numbers_.emplace(&set, *number).first;
  }
  return known->second;
}

result<std::vector<int>> kernel_process::numbers_of(const std::vector<device_buffers*>& sets) {
  std::vector<int> numbers;
  for (const device_buffers* set : sets) {
    auto number = number_of(*set);
    if (!number) return tl::unexpected(number.error());
    numbers.push_back(*number);
  }
  return numbers;
}

result<harness::call_result> kernel_process::counted(harness::call_result answer) {
  clock_->kernel_s += answer.wall_ns * 1e-9;
  if (answer.status == harness::call_status::lost)
    return fail(fault::infrastructure, fmt::format("a runner was lost while it ran a kernel: {}", answer.detail));
  return answer;
}

result<harness::call_result> kernel_process::call(const std::vector<device_buffers*>& sets, double timeout_s, after_call after) {
  if (after == after_call::stands_still) (void)runner_->empty_call_ns();  // measured now: asked for later, it would set the process going
  for (const device_buffers* set : sets)
    if (!numbers_.contains(set)) timeout_s += new_set_allowance_s_;
  const auto numbers = numbers_of(sets);
  if (!numbers) return tl::unexpected(numbers.error());
  harness::call_result answer = runner_->call(*numbers, timeout_s);
  // An empty call is answered when what the last one computed is in its outputs; that is not part of its time.
  if (outputs_follow_ && answer.status == harness::call_status::ok && !sets.empty()) {
    const harness::call_result followed = runner_->call({}, timeout_s);
    if (followed.status != harness::call_status::ok) answer = followed;
  }
  if (after == after_call::stands_still && runner_->alive()) (void)runner_->freeze();
  return counted(std::move(answer));
}

result<harness::call_result> kernel_process::prepare_timed(const std::vector<device_buffers*>& sets, double timeout_s) {
  harness::call_result done;
  done.status = harness::call_status::ok;
  if (!replays_) return done;
  for (const device_buffers* set : sets) {
    if (captured_.contains(set)) continue;
    auto number = number_of(*set);
    if (!number) return tl::unexpected(number.error());
    auto captured = counted(runner_->capture(*number, timeout_s));
    if (!captured || captured->status != harness::call_status::ok) return captured;
    captured_.insert(set);
  }
  return done;
}

result<harness::call_result> kernel_process::timed(const std::vector<device_buffers*>& sets, double timeout_s) {
  if (!replays_) return call(sets, timeout_s);
  const auto numbers = numbers_of(sets);
  if (!numbers) return tl::unexpected(numbers.error());
  return counted(runner_->replay(*numbers, timeout_s));
}

result<harness::call_result> kernel_process::device_time(device_buffers& set, const std::filesystem::path& cupti, double timeout_s) {
  auto ready = prepare_timed({&set}, timeout_s);
  if (!ready || ready->status != harness::call_status::ok) return ready;
  auto number = number_of(set);
  if (!number) return tl::unexpected(number.error());
  harness::device_time_request how;
  how.cupti = cupti;
  how.replays = replays_;
  return counted(runner_->device_time(*number, how, timeout_s));
}

result<harness::call_result> kernel_process::call_in_stream(device_buffers& others, device_buffers& own, double timeout_s) {
  if (numbers_.find(&others) == numbers_.end() || numbers_.find(&own) == numbers_.end()) timeout_s += new_set_allowance_s_;
  auto first = number_of(others), second = number_of(own);
  if (!first) return tl::unexpected(first.error());
  if (!second) return tl::unexpected(second.error());
  return counted(runner_->call_in_stream(*first, *second, timeout_s));
}

}  // namespace kernsmith::cuda
