#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "backends/harness/sandboxed_runner.hpp"

namespace kernsmith::harness {

namespace {

/// Between two looks at the memory of a runner. Outside the timed window whenever a batch is shorter than this.
constexpr double usage_poll_s = 0.05;
/// Buffers and sets are set up within this, however large (a populated terabyte would not be).
constexpr double setup_request_timeout_s = 60;
/// What a process that closed its channel gets to end by itself, so that its own exit status can be told.
constexpr double end_grace_s = 0.5;
constexpr int empty_batches = 31;
/// Output beyond this is a flood: the batch goes on, as its time is its own, until here.
constexpr std::uint64_t max_output_bytes = std::uint64_t{1} << 30;

/// settle(): between two looks.
constexpr long settle_look_ns = 10'000;
/// A thread stops as soon as it gets a processor or returns from the kernel. On a machine with more to run than it has processors that can
/// take seconds. Whoever uses processor time meanwhile, or sleeps without having stopped, has had itself continued; whoever does neither
/// has not had its turn.
constexpr double freeze_look_s = 0.2, freeze_timeout_s = 30;
constexpr double frozen_cpu_slack_ns = 20e6;
/// Threads that fault together each send a message; more than these is a flood.
constexpr int max_fault_messages = 4096;

double now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

}  // namespace

bool sandboxed_runner::exchange(const request_message& request, std::uint64_t sequence, double timeout_s, answer_message& answer,
                                double& wall_ns) {
  thaw();
  // A message that waits before anything was asked is not an answer: it would stop the clock at once.
  bool answered = false;
  if (death_ || !take_messages(0, answer, answered)) return false;
  if (answered) {
    end_by_kill(call_status::exited, "the control channel carried a message that answers nothing");
    return false;
  }
  const double begin = now_ns();
  if (!channel_.send(request.bytes())) {
    end_by_itself();
    return false;
  }
  const bool ok = await(sequence, begin * 1e-9 + timeout_s, answer);
  wall_ns = now_ns() - begin;
  return ok;
}

/// Blocks, not spins: the kernel's threads want every core. On accelerators they don't, and waking up would cost more than short kernels
/// take. Returns at the answer; all looking after output and memory happens only when
/// there is output, or when the batch takes longer than a poll period.
bool sandboxed_runner::await(std::uint64_t sequence, double deadline_s, answer_message& answer) {
  next_look_s_ = std::max(next_look_s_, monotonic_s() + usage_poll_s);
  for (;;) {
    const double now = monotonic_s();
    if (now >= deadline_s) {
      end_by_kill(call_status::timeout, "still running at its time limit; the process tree was killed");
      return false;
    }
    if (now >= next_look_s_) look_at_usage();
    if (death_) return false;
    const double wait_s = spins_ ? 0.0 : std::clamp(std::min(deadline_s, next_look_s_) - now, 0.0, usage_poll_s);
    std::array<pollfd, 2> waiting{{{channel_.get(), POLLIN, 0}, {output_open_ ? tree_->output() : -1, POLLIN, 0}}};
    const timespec wait{0, static_cast<long>(wait_s * 1e9)};
    if (::ppoll(waiting.data(), waiting.size(), &wait, nullptr) < 0 && errno != EINTR) {
      end_by_kill(call_status::lost, errno_text("waiting for a runner", errno));
      return false;
    }
    bool answered = false;
    if (waiting[0].revents != 0 && !take_messages(sequence, answer, answered)) return false;
    if (answered) return true;
    if (waiting[1].revents != 0) output_open_ = output_.drain(tree_->output());
    if (output_.total_bytes() > max_output_bytes)
      end_by_kill(call_status::resource_limit, fmt::format("wrote more than {} bytes of output", max_output_bytes));
  }
}

/// Reads what the channel holds until the awaited answer. False when the runner has ended or must end.
bool sandboxed_runner::take_messages(std::uint64_t sequence, answer_message& answer, bool& answered) {
  for (;;) {
    switch (channel_.receive(answer)) {
      case receive_status::nothing:
        return true;
      case receive_status::closed:
        end_by_itself();
        return false;
      case receive_status::malformed:
        end_by_kill(call_status::exited, "the control channel carried bytes that are no answer");
        return false;
      case receive_status::message:
        break;
    }
    switch (answer.header.kind) {
      case wire::answer_kind::fault:
        if (!fault_) fault_ = answer.header;
        if (++fault_messages_ <= max_fault_messages) continue;
        end_by_kill(call_status::exited, "the control channel was flooded");
        return false;
      case wire::answer_kind::load_failed:
        load_error_ = answer.text;
        end_by_kill(call_status::exited, answer.text);
        return false;
      case wire::answer_kind::broken: {
        // Until a runner has its library, nothing that fails is a kernel's doing.
        const bool nobodys = !cpu_clock_ && answer.header.code != 0;
        const bool known = !nobodys && answer.header.code != 0;
        end_by_kill(nobodys ? call_status::lost
                    : known ? how_device_failed(answer.header.code, answer.text).status
                            : call_status::resource_limit,
                    answer.text);
        return false;
      }
      case wire::answer_kind::device_failed: {
        const device_failure why = how_device_failed(answer.header.code, answer.text);
        end_by_kill(why.status, why.detail);
        return false;
      }
      case wire::answer_kind::loaded:
      case wire::answer_kind::done:
      case wire::answer_kind::refused:
      case wire::answer_kind::unable:
        break;
    }
    const bool loading = answer.header.kind == wire::answer_kind::loaded;
    if (answer.header.sequence != sequence || loading != (sequence == 0)) {
      end_by_kill(call_status::exited, "the control channel carried an answer to another question");
      return false;
    }
    answered = true;
    return true;
  }
}

result<std::uint32_t> sandboxed_runner::map(const mappable_buffer& buffer) {
  const auto known = buffers_.find(&buffer);
  if (known != buffers_.end()) return known->second;
  if (buffers_.size() >= wire::max_buffers) return fail(fault::bug, "too many buffers in one runner");
  request_message request(wire::request_kind::map_buffer, 1, ++sequence_);
  request.append(wire::map_body{buffer.file_bytes(), buffer.data_offset(), buffer.bytes()});
  const auto number = static_cast<std::uint32_t>(buffers_.size());
  buffers_.emplace(&buffer, number);
  answer_message answer;
  if (death_) return number;
  thaw();
  if (!channel_.send(request.bytes(), buffer.descriptor())) {
    end_by_itself();
  } else if (await(sequence_, monotonic_s() + setup_request_timeout_s, answer)) {
    fences_.push_back(
        {answer.header.value - buffer.data_offset(), buffer.file_bytes(), fmt::format("a buffer of {} bytes", buffer.bytes())});
    buffer_bytes_ += static_cast<std::int64_t>(buffer.file_bytes());
  }
  return number;
}

result<int> sandboxed_runner::add_set(const buffer_set& set) {
  if (set.inputs.size() + set.outputs.size() > wire::max_tensors)
    return fail(fault::bad_request, fmt::format("more than {} tensors in one kernel", wire::max_tensors));
  if (set.axes.size() > wire::max_axes) return fail(fault::bad_request, fmt::format("more than {} axes in one problem", wire::max_axes));
  if (sets_ >= static_cast<int>(wire::max_sets)) return fail(fault::bug, "too many buffer sets in one runner");
  std::vector<wire::tensor_body> tensors;
  for (const auto* side : {&set.inputs, &set.outputs}) {
    for (const tensor_binding& binding : *side) {
      if (binding.buffer == nullptr) return fail(fault::bug, "a tensor without a buffer");
      if (binding.shape.size() > wire::max_rank)
        return fail(fault::bad_request, fmt::format("a tensor of more than {} dimensions", wire::max_rank));
      wire::tensor_body tensor{};
      tensor.dtype = static_cast<std::int32_t>(binding.type);
      tensor.rank = static_cast<std::uint32_t>(binding.shape.size());
      std::copy(binding.shape.begin(), binding.shape.end(), tensor.shape);
      auto number = map(*binding.buffer);
      if (!number) return tl::unexpected(number.error());
      tensor.buffer = *number;
      tensor.offset = binding.offset;
      tensors.push_back(tensor);
    }
  }
  request_message request(wire::request_kind::add_set, 1, ++sequence_);
  request.append(wire::set_body{static_cast<std::uint32_t>(set.inputs.size()), static_cast<std::uint32_t>(set.outputs.size()),
                                static_cast<std::uint32_t>(set.axes.size()), 0});
  for (const auto& tensor : tensors) request.append(tensor);
  request.append_bytes(set.axes.data(), set.axes.size() * sizeof(std::int64_t));
  answer_message answer;
  double wall_ns = 0;
  (void)exchange(request, sequence_, setup_request_timeout_s, answer, wall_ns);
  if (death_ && death_->status == call_status::lost) return fail(fault::infrastructure, death_->detail);
  return sets_++;
}

result<void> sandboxed_runner::drop_sets() {
  sets_ = 0;
  buffers_.clear();
  fences_.resize(std::min(fences_.size(), fixed_fences_));
  buffer_bytes_ = 0;
  answer_message answer;
  double wall_ns = 0;
  const std::uint64_t sequence = ++sequence_;
  (void)exchange(request_message(wire::request_kind::drop_sets, 0, sequence), sequence, setup_request_timeout_s, answer, wall_ns);
  if (death_ && death_->status == call_status::lost) return fail(fault::infrastructure, death_->detail);
  return {};
}

/// Kills the runner when it uses more than it may. The verifier's own buffers, mapped there, don't count.
void sandboxed_runner::look_at_usage() {
  next_look_s_ = monotonic_s() + usage_poll_s;
  const tree_usage usage = tree_->usage(max_threads_);
  const std::int64_t own_bytes = usage.resident_bytes - std::min(usage.shared_bytes, buffer_bytes_);
  if (own_bytes > memory_limit_bytes_) {
    end_by_kill(call_status::resource_limit,
                fmt::format("used {} MiB of memory; the limit is {} MiB", own_bytes >> 20, memory_limit_bytes_ >> 20));
  } else if (usage.threads > max_threads_) {
    end_by_kill(call_status::resource_limit, fmt::format("started more than {} threads", max_threads_));
  }
}

void sandboxed_runner::end_by_kill(call_status status, std::string detail) {
  if (death_) return;
  tree_->kill_tree();
  if (output_open_) output_open_ = output_.drain(tree_->output());
  death_.emplace();
  death_->status = status;
  death_->detail = std::move(detail);
}

/// The channel was closed from the other side: mostly the process has ended.
void sandboxed_runner::end_by_itself() {
  if (death_) return;
  const auto end = tree_->wait(end_grace_s);
  if (!end) return end_by_kill(call_status::exited, "closed its control channel and went on running");
  tree_->kill_tree();  // waits until the namespace is empty
  if (output_open_) output_open_ = output_.drain(tree_->output());
  death_.emplace();
  if (!end->set_up) {
    death_->status = call_status::lost;
    death_->detail = setup_error(output_.text()).message;
  } else {
    *death_ = how_it_ended(end->exit_status, fault_, fences_);
  }
}

std::string sandboxed_runner::output_tail() {
  if (output_open_ && !death_) output_open_ = output_.drain(tree_->output());
  return output_.text();
}

double sandboxed_runner::cpu_ns() const {
  timespec used{};
  if (death_ || !cpu_clock_ || ::clock_gettime(*cpu_clock_, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) * 1e9 + static_cast<double>(used.tv_nsec);
}

bool sandboxed_runner::freeze() {
  if (death_ || !cpu_clock_) return false;
  if (frozen_) return true;
  frozen_ = true;
  // Process 1 of the sandbox and the runner: anything else is a child that may go on writing while the runner stands still.
  if (may_fork_) left_processes_ = tree_->usage(max_threads_).processes > 2;
  const double before_ns = cpu_ns(), deadline_s = monotonic_s() + freeze_timeout_s;
  bool stopped = stop_process(pid_, pidfd_, freeze_look_s);
  while (!stopped && monotonic_s() < deadline_s && cpu_ns() - before_ns < frozen_cpu_slack_ns && !sleeps(pid_))
    stopped = await_stop(pid_, freeze_look_s);
  cpu_at_freeze_ns_ = cpu_ns();
  if (!stopped && (waits_for_system(pid_) || monotonic_s() >= deadline_s))
    end_by_kill(call_status::lost, "a runner could not be stopped: the system holds one of its threads, or leaves it no processor");
  return stopped;
}

/// The CPU time tells of one that stopped itself again in time. The system brings it up to date at its ticks, so that the last bit before
/// the standstill may show only later.
std::string sandboxed_runner::what_moved() const {
  if (!frozen_ || death_) return "";
  if (left_processes_) return "a process that it started is still there";
  if (!stands_still(pid_)) return "it is found running";
  const double used_ns = cpu_ns() - cpu_at_freeze_ns_;
  return used_ns < frozen_cpu_slack_ns ? "" : fmt::format("it has used {:.1f} ms of processor time since", used_ns * 1e-6);
}

void sandboxed_runner::thaw() {
  if (!frozen_) return;
  frozen_ = false;
  if (!death_) continue_process(pidfd_);
}

std::vector<executable_mapping> sandboxed_runner::executable_mappings() const {
  return death_ || pid_ < 0 ? std::vector<executable_mapping>() : harness::executable_mappings(pid_);
}

/// By the threads' states: the CPU time of another process's running thread stands still between two ticks of the system.
bool sandboxed_runner::settle(double timeout_s) {
  if (frozen_ || death_ || pid_ < 0) return true;
  const double deadline = monotonic_s() + timeout_s;
  while (!sleeps(pid_)) {
    if (monotonic_s() >= deadline) return false;
    const timespec look_period{0, settle_look_ns};
    ::nanosleep(&look_period, nullptr);
  }
  return true;
}

double sandboxed_runner::empty_call_ns() {
  if (empty_call_ns_ > 0) return empty_call_ns_;
  std::array<double, empty_batches> times{};
  for (double& time : times) {
    const call_result empty = call({}, setup_request_timeout_s);
    if (empty.status != call_status::ok) return 0;
    time = empty.wall_ns;
  }
  std::nth_element(times.begin(), times.begin() + empty_batches / 2, times.end());
  empty_call_ns_ = times[empty_batches / 2];
  return empty_call_ns_;
}

}  // namespace kernsmith::harness
