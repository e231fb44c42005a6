#include "backends/cpp/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace kernsmith::cpp {

namespace {

/// Pattern of the slack around buffers; any value that data rarely holds.
constexpr std::uint64_t slack_seed = 0x5eed51acc5eed51aull;

/// A thread that was left behind gets this long to show itself, and longer while it works.
constexpr double late_write_wait_s = 0.1, late_work_timeout_s = 1;
/// A race that gave a wrong answer once gives another one of several wrong answers, or the right one, within these.
constexpr int determinism_runs = 4;

std::string position_text(std::int64_t index, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> position(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    position[d] = index % shape[d];
    index /= shape[d];
  }
  return fmt::format("[{}]", fmt::join(position, ", "));
}

void fill_slack(kernel_buffers& buffers) {
  for (harness::shared_buffer& b : buffers.inputs) b.fill_slack(slack_seed);
  for (harness::shared_buffer& b : buffers.outputs) b.fill_slack(slack_seed);
}

/// Name of the first tensor around which something was written, or empty.
std::string touched_slack(const problem& p, const kernel_buffers& buffers) {
  const std::vector<int> inputs = p.inputs(), outputs = p.outputs();
  for (std::size_t i = 0; i < buffers.inputs.size(); ++i) {
    if (!buffers.inputs[i].slack_intact(slack_seed)) return p.tensors[static_cast<std::size_t>(inputs[i])].name;
  }
  for (std::size_t o = 0; o < buffers.outputs.size(); ++o) {
    if (!buffers.outputs[o].slack_intact(slack_seed)) return p.tensors[static_cast<std::size_t>(outputs[o])].name;
  }
  return "";
}

bool all_bitwise(const std::vector<compare_spec>& specs) {
  return std::all_of(specs.begin(), specs.end(), [](const compare_spec& s) { return s.mode == compare_mode::bitwise; });
}

void sleep_s(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// The first element from `from` on that still holds the poison; -1: none. Only a part of large outputs is poisoned, so that what fails
/// first may hold an old answer. Of small elements some hold the pattern by chance, so that of those only `from` counts.
std::int64_t first_unwritten(const std::byte* data, std::int64_t from, std::int64_t count, dtype type, harness::poison pattern) {
  constexpr std::size_t telling_bytes = 4;
  const std::int64_t end = size_of(type) >= telling_bytes ? count : from + 1;
  for (std::int64_t i = from; i < end; ++i)
    if (harness::is_poisoned(data, i, type, pattern)) return i;
  return -1;
}

}  // namespace

std::uint64_t fingerprint_of_outputs(const kernel_buffers& buffers, std::uint64_t where, std::size_t most_bytes) {
  std::uint64_t state = 0;
  for (const harness::shared_buffer& b : buffers.outputs) {
    const std::size_t window = std::min(b.bytes(), most_bytes);
    const std::size_t from = b.bytes() > window ? where % (b.bytes() - window) : 0;
    for (std::size_t at = from; at < from + window; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, b.data() + at, std::min(sizeof word, from + window - at));
      state = (state ^ word) * 0x9e3779b97f4a7c15ull;
      state ^= state >> 29;
    }
  }
  return state;
}

result<check_result> look_behind(check_result check, const std::vector<compare_spec>& specs, kernel_process& process,
                                 kernel_buffers& buffers, double timeout_s) {
  if (!process.alive()) return check;
  if (!process.stayed_frozen()) {
    check.outcome = "cheating";
    check.rule = "resumed_itself";
    check.detail = "the process was stopped at its answer and had itself continued: " + process.what_moved() +
                   (check.detail.empty() ? "" : "; " + check.detail);
    process.thaw();
    return check;
  }
  if (check.outcome != "wrong_values" && check.outcome != "unwritten") {
    process.thaw();
    return check;
  }
  const std::uint64_t at_answer = fingerprint_of_outputs(buffers);
  process.thaw();
  sleep_s(late_write_wait_s);
  (void)process.settle(late_work_timeout_s);
  if (fingerprint_of_outputs(buffers) != at_answer) {
    check.outcome = "cheating";
    check.rule = "late_writes";
    check.detail = "outputs were written after launch had returned; at its return: " + check.detail;
    return check;
  }
  if (!all_bitwise(specs)) return check;
  for (int again = 0; again < determinism_runs; ++again) {
    auto called = process.call({&buffers}, timeout_s);
    if (!called) return tl::unexpected(called.error());
    if (called->status != harness::call_status::ok) return check;
    if (fingerprint_of_outputs(buffers) == at_answer) continue;
    check.outcome = "nondeterministic";
    check.detail = "the same call gives other bits when it is repeated; " + check.detail;
    return check;
  }
  return check;
}

std::string axes_text(const problem& p, const std::vector<std::int64_t>& axes) {
  std::string text;
  for (std::size_t a = 0; a < axes.size() && a < p.axes.size(); ++a)
    text += fmt::format("{}{}={}", a == 0 ? "" : ", ", p.axes[a].name, axes[a]);
  return text;
}

check_result check_outputs(const problem& p, const std::vector<compare_spec>& specs, const kernel_buffers& got,
                           const kernel_buffers& expected, harness::expected_form form, harness::poison pattern, double scale, int threads,
                           const std::optional<std::uint64_t>& sample) {
  check_result check;
  const std::vector<int> outputs = p.outputs();
  for (std::size_t o = 0; o < got.outputs.size(); ++o) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(outputs[o])];
    const std::vector<std::int64_t>& shape = got.set.outputs[o].shape;
    const void *own = got.outputs[o].data(), *right = expected.outputs[o].data();
    const std::int64_t count = element_count(shape);
    const harness::comparison c = sample ? harness::compare_sample(specs[o], t.type, own, right, form, count, scale, threads, *sample)
                                         : harness::compare(specs[o], t.type, own, right, form, count, scale, threads);
    check.max_error = std::max(check.max_error, std::min(c.max_error * scale, harness::max_reported_error));
    if (c.match || !check.ok()) continue;
    if (c.first_failure < 0) {
      check.outcome = "wrong_values";
      check.detail = fmt::format("output '{}' as a whole is {:.3g} times the allowed distance away", t.name, c.max_error);
    } else if (const std::int64_t left = first_unwritten(got.outputs[o].data(), c.first_failure, element_count(shape), t.type, pattern);
               left >= 0) {
      check.outcome = "unwritten";
      check.detail = fmt::format("output '{}' at {} was not written; {} of {} elements are wrong", t.name, position_text(left, shape),
                                 c.failures, element_count(shape));
    } else {
      check.outcome = "wrong_values";
      check.detail =
          fmt::format("output '{}' at {}: got {:.9g}, expected {:.9g}; {} of {} elements are outside the budget, the worst {:.3g} times",
                      t.name, position_text(c.first_failure, shape), c.got, c.expected, c.failures, element_count(shape), c.max_error);
    }
  }
  return check;
}

result<check_result> check_kernel(const problem& p, const test_case& c, kernel_process& process, kernel_buffers& buffers,
                                  harness::poison pattern, double timeout_s, int threads, const check_allowance& allowance) {
  copy_inputs(*c.oracle, buffers, threads);
  fill_slack(buffers);
  for (harness::shared_buffer& b : buffers.outputs) harness::fill_poison(b.data(), b.bytes(), pattern, threads);
  auto called = process.call({&buffers}, timeout_s, after_call::stands_still);
  if (!called) return tl::unexpected(called.error());
  check_result check;
  check.wall_ns = called->wall_ns;
  const auto finish = [&](std::string outcome, const std::string& detail) -> result<check_result> {
    check.outcome = std::move(outcome);
    check.detail = fmt::format("{}: {}", c.what, detail);
    return look_behind(std::move(check), c.specs, process, buffers, timeout_s);
  };
  if (called->status != harness::call_status::ok) return finish(outcome_of(called->status), called->detail);
  if (const std::string name = touched_slack(p, buffers); !name.empty()) {
    return finish("out_of_bounds", fmt::format("memory next to '{}' was written", name));
  }
  const std::vector<int> inputs = p.inputs();
  for (std::size_t i = 0; i < buffers.inputs.size(); ++i) {
    if (!harness::same_bytes(buffers.inputs[i].data(), c.oracle->inputs[i].data(), buffers.inputs[i].bytes(), threads)) {
      return finish("input_modified", fmt::format("input '{}' was changed", p.tensors[static_cast<std::size_t>(inputs[i])].name));
    }
  }
  const check_result values =
      check_outputs(p, c.specs, buffers, *c.oracle, c.form, pattern, c.budget_scale * allowance.budget_scale, threads);
  check.max_error = values.max_error;
  if (!values.ok()) return finish(values.outcome, values.detail);
  if (c.precision_limit > 0 && !allowance.any_precision && values.max_error > c.precision_limit) {
    return finish("precision_broken",
                  fmt::format("the error is {:.3g} of the budget where the precision contract allows {:.3g}: something is computed "
                              "in less than {}",
                              values.max_error, c.precision_limit, name_of(p.precision.lowest)));
  }
  if (!process.stayed_frozen()) return finish("cheating", "its answer was right");
  process.thaw();
  return check;
}

}  // namespace kernsmith::cpp
