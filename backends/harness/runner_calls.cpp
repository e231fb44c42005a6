// What a runner is asked to do with its sets: calls, captures, replays.
#include <fmt/format.h>

#include <algorithm>

#include "backends/harness/sandboxed_runner.hpp"

namespace kernsmith::harness {

namespace {

/// Of the line in which a hosted kernel says why it failed.
constexpr std::size_t max_said_bytes = 600;

}  // namespace

call_result sandboxed_runner::call(const std::vector<int>& sets, double timeout_s) {
  return run(naming(wire::request_kind::call, sets), sets, sets.size(), timeout_s);
}

call_result sandboxed_runner::call_in_stream(int others, int own, double timeout_s) {
  return run(naming(wire::request_kind::call_in_stream, {others, own}), {others, own}, 1, timeout_s);
}

call_result sandboxed_runner::capture(int set, double timeout_s) {
  call_result done = run(naming(wire::request_kind::capture, {set}), {set}, 0, timeout_s);
  if (done.unable) {
    done.detail = fmt::format(
        "the launch can't be captured into a graph ({}): it waits for the device, takes memory, works on the default stream, or leaves a "
        "forked stream unjoined",
        done.detail);
  }
  return done;
}

call_result sandboxed_runner::replay(const std::vector<int>& sets, double timeout_s) {
  return run(naming(wire::request_kind::replay, sets), sets, sets.size(), timeout_s);
}

call_result sandboxed_runner::device_time(int set, const device_time_request& how, double timeout_s) {
  request_message request(wire::request_kind::device_time, 1, ++sequence_);
  request.append(wire::device_time_body{static_cast<std::uint32_t>(set), static_cast<std::uint32_t>(how.calls), how.replays ? 1u : 0u, 0});
  const std::string path = how.cupti.string();
  request.append_bytes(path.c_str(), path.size() + 1);
  return run(request, {set}, 1, timeout_s);
}

request_message sandboxed_runner::naming(wire::request_kind kind, const std::vector<int>& sets) {
  request_message request(kind, static_cast<std::uint32_t>(sets.size()), ++sequence_);
  for (const int set : sets) request.append(static_cast<std::uint32_t>(set));
  return request;
}

/// `times`: how many times of this process's own belong to the answer.
call_result sandboxed_runner::run(const request_message& request, const std::vector<int>& sets, std::size_t times, double timeout_s) {
  call_result done;
  if (death_) return *death_;
  if (sets.size() > wire::max_batch_calls || std::any_of(sets.begin(), sets.end(), [this](int set) { return set < 0 || set >= sets_; })) {
    done.detail = "a batch names a set that was never added, or is too long";
    return done;
  }
  answer_message answer;
  const double cpu_before = cpu_ns();
  if (!exchange(request, sequence_, timeout_s, answer, done.wall_ns)) {
    death_->wall_ns = done.wall_ns;
    return *death_;
  }
  done.cpu_at_answer_ns = cpu_ns();
  done.cpu_ns = done.cpu_at_answer_ns - cpu_before;
  done.inside_ns = std::move(answer.times);
  done.status = call_status::ok;
  if (answer.header.kind == wire::answer_kind::refused) {
    done.status = call_status::refused;
    done.detail = fmt::format("launch returned {}", answer.header.code);
    if (hosted_) tell_hosted(answer.header.code, done);
  } else if (answer.header.kind == wire::answer_kind::unable) {
    done.status = call_status::refused;
    done.unable = true;
    done.detail = answer.header.code != 0 ? fmt::format("{}, {}", answer.text, answer.header.code) : answer.text;
  } else if (done.inside_ns.size() != times) {
    end_by_kill(call_status::exited, "the control channel carried an answer to another question");
    return *death_;
  }
  if (output_open_) output_open_ = output_.drain(tree_->output());
  if (monotonic_s() >= next_look_s_) look_at_usage();
  return death_ ? *death_ : done;
}

/// An interpreter's kernel says in words what went wrong.
void sandboxed_runner::tell_hosted(std::int32_t code, call_result& done) {
  const auto status = code == wire::hosted_raised        ? call_status::crashed
                      : code == wire::hosted_wrong_shape ? call_status::wrong_shape
                      : code == wire::hosted_wrong_dtype ? call_status::wrong_dtype
                                                         : call_status::refused;
  std::string said = output_tail();
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const std::size_t last = said.rfind('\n');
  if (last != std::string::npos) said.erase(0, last + 1);
  if (status == call_status::refused && said.empty()) return;
  done.status = status;
  done.detail = said.substr(0, max_said_bytes);
}

}  // namespace kernsmith::harness
