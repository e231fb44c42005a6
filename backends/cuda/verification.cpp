#include "backends/cuda/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace kernsmith::cuda {

namespace {

constexpr std::uint64_t slack_word = 0x5eed51acc5eed51aull;  // any value that data rarely holds
/// Work that was left behind gets this long to show itself.
constexpr double late_write_wait_s = 0.1;
constexpr int determinism_runs = 4;

std::string place_text(std::int64_t index, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> position(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    position[d] = index % shape[d];
    index /= shape[d];
  }
  return fmt::format("[{}]", fmt::join(position, ", "));
}

bool all_bitwise(const std::vector<compare_spec>& specs) {
  return std::all_of(specs.begin(), specs.end(), [](const compare_spec& s) { return s.mode == compare_mode::bitwise; });
}

}  // namespace

result<void> judge::prepare(const device_buffers& from, const device_buffers& buffers, harness::poison pattern) {
  for (std::size_t i = 0; i < buffers.inputs.size(); ++i) {
    if (auto ok = trusted.copy(buffers.inputs[i].address, from.inputs[i].address, buffers.inputs[i].bytes); !ok) return ok;
  }
  if (auto ok = trusted.fill_slack(buffers, slack_word); !ok) return ok;
  for (const device_tensor& t : buffers.outputs) {
    if (auto ok = trusted.fill(t.address, t.bytes, pattern.word); !ok) return ok;
  }
  return trusted.noop();
}

result<check_result> judge::outputs(const std::vector<compare_spec>& specs, const device_buffers& got, const device_buffers& expected,
                                    harness::expected_form form, harness::poison pattern, double scale) {
  const std::vector<int> outputs = p.outputs();
  std::vector<comparison_request> requests;
  for (std::size_t o = 0; o < got.outputs.size(); ++o) {
    const dtype type = p.tensors[static_cast<std::size_t>(outputs[o])].type;
    requests.push_back(
        {specs[o], type, got.outputs[o].address, expected.outputs[o].address, form, element_count(got.set.outputs[o].shape), scale});
  }
  auto verdicts = trusted.compare(requests);
  if (!verdicts) return tl::unexpected(verdicts.error());
  check_result check;
  for (std::size_t o = 0; o < requests.size(); ++o) {
    const harness::comparison& c = (*verdicts)[o];
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(outputs[o])];
    const std::vector<std::int64_t>& shape = got.set.outputs[o].shape;
    check.max_error = std::max(check.max_error, std::min(c.max_error * scale, harness::max_reported_error));
    if (c.match || !check.ok()) continue;
    if (c.first_failure < 0) {
      check.outcome = "wrong_values";
      check.detail = fmt::format("output '{}' as a whole is {:.3g} times the allowed distance away", t.name, c.max_error);
      continue;
    }
    auto poisoned = trusted.is_poisoned(got.outputs[o].address, c.first_failure, t.type, pattern);
    if (!poisoned) return tl::unexpected(poisoned.error());
    check.outcome = *poisoned ? "unwritten" : "wrong_values";
    check.detail = *poisoned
                       ? fmt::format("output '{}' at {} was not written; {} of {} elements are wrong", t.name,
                                     place_text(c.first_failure, shape), c.failures, element_count(shape))
                       : fmt::format(
                             "output '{}' at {}: got {:.9g}, expected {:.9g}; {} of {} elements are outside the budget, the worst "
                             "{:.3g} times",
                             t.name, place_text(c.first_failure, shape), c.got, c.expected, c.failures, element_count(shape), c.max_error);
  }
  return check;
}

result<check_result> judge::surroundings(const device_buffers& got, const device_buffers& pristine) {
  check_result check;
  auto touched = trusted.touched_slack(got, slack_word);
  if (!touched) return tl::unexpected(touched.error());
  if (!touched->empty()) {
    check.outcome = "out_of_bounds";
    check.detail = fmt::format("memory next to '{}' was written", *touched);
    return check;
  }
  std::vector<byte_pair> pairs;
  for (std::size_t i = 0; i < got.inputs.size(); ++i)
    pairs.push_back({got.inputs[i].address, pristine.inputs[i].address, got.inputs[i].bytes});
  auto same = trusted.same(pairs);
  if (!same) return tl::unexpected(same.error());
  const std::vector<int> inputs = p.inputs();
  for (std::size_t i = 0; i < same->size(); ++i) {
    if ((*same)[i]) continue;
    check.outcome = "input_modified";
    check.detail = fmt::format("input '{}' was changed", p.tensors[static_cast<std::size_t>(inputs[i])].name);
    break;
  }
  return check;
}

result<check_result> judge::look_behind(check_result check, const std::vector<compare_spec>& specs, kernel_process& process,
                                        device_buffers& buffers, double timeout_s) {
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
  auto at_answer = trusted.fingerprint(buffers.outputs);
  if (!at_answer) return tl::unexpected(at_answer.error());
  process.thaw();
  std::this_thread::sleep_for(std::chrono::duration<double>(late_write_wait_s));
  auto later = trusted.fingerprint(buffers.outputs);
  if (!later) return tl::unexpected(later.error());
  if (*later != *at_answer) {
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
    auto other = trusted.fingerprint(buffers.outputs);
    if (!other) return tl::unexpected(other.error());
    if (*other == *at_answer) continue;
    check.outcome = "nondeterministic";
    check.detail = "the same call gives other bits when it is repeated; " + check.detail;
    return check;
  }
  return check;
}

result<check_result> judge::kernel(const test_case& c, kernel_process& process, device_buffers& buffers, harness::poison pattern,
                                   double timeout_s) {
  if (auto ready = prepare(*c.oracle, buffers, pattern); !ready) return tl::unexpected(ready.error());
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
  auto around = surroundings(buffers, *c.oracle);
  if (!around) return around;
  if (!around->ok()) return finish(around->outcome, around->detail);
  auto values = outputs(c.specs, buffers, *c.oracle, c.form, pattern, c.budget_scale);
  if (!values) return values;
  check.max_error = values->max_error;
  if (!values->ok()) return finish(values->outcome, values->detail);
  if (c.precision_limit > 0 && values->max_error > c.precision_limit) {
    return finish("precision_broken",
                  fmt::format("the error is {:.3g} of the budget where the precision contract allows {:.3g}: something is computed in less "
                              "than {}",
                              values->max_error, c.precision_limit, name_of(p.precision.lowest)));
  }
  if (!process.stayed_frozen()) return finish("cheating", "its answer was right");
  process.thaw();
  return check;
}

result<check_result> judge::stream_order(const test_case& c, kernel_process& process, device_buffers& others, device_buffers& own,
                                         double timeout_s) {
  const harness::poison pattern = harness::poison::not_a_number();
  if (auto ready = prepare(*c.oracle, others, pattern); !ready) return tl::unexpected(ready.error());
  for (const auto* side : {&own.inputs, &own.outputs}) {
    for (const device_tensor& t : *side) {
      if (auto ok = trusted.fill(t.address, t.bytes, 0); !ok) return tl::unexpected(ok.error());
    }
  }
  if (auto ok = trusted.noop(); !ok) return tl::unexpected(ok.error());
  auto called = process.call_in_stream(others, own, timeout_s);
  if (!called) return tl::unexpected(called.error());
  check_result check;
  if (called->status != harness::call_status::ok) {
    check.outcome = outcome_of(called->status);
    check.detail = fmt::format("{}, amid other work on its stream: {}", c.what, called->detail);
    return check;
  }
  auto values = outputs(c.specs, others, *c.oracle, c.form, pattern, c.budget_scale);
  if (!values || values->ok()) return values;
  check.outcome = "wrong_values";
  check.detail = fmt::format(
      "{}, amid other work on its stream: it works beside the stream that it was given, on inputs that have not arrived "
      "or after its outputs were read; {}",
      c.what, values->detail);
  return check;
}

}  // namespace kernsmith::cuda
