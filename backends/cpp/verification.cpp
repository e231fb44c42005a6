#include "backends/cpp/verification.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernsmith::cpp {

namespace {

/// Pattern of the slack around buffers; any value that data rarely holds.
constexpr std::uint64_t slack_seed = 0x5eed51acc5eed51aull;

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

}  // namespace

std::string axes_text(const problem& p, const std::vector<std::int64_t>& axes) {
  std::string text;
  for (std::size_t a = 0; a < axes.size() && a < p.axes.size(); ++a)
    text += fmt::format("{}{}={}", a == 0 ? "" : ", ", p.axes[a].name, axes[a]);
  return text;
}

check_result check_outputs(const problem& p, const std::vector<compare_spec>& specs, const kernel_buffers& got,
                           const kernel_buffers& expected, harness::expected_form form, harness::poison pattern, double scale,
                           int threads) {
  check_result check;
  const std::vector<int> outputs = p.outputs();
  for (std::size_t o = 0; o < got.outputs.size(); ++o) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(outputs[o])];
    const std::vector<std::int64_t>& shape = got.set.outputs[o].shape;
    const harness::comparison c =
        harness::compare(specs[o], t.type, got.outputs[o].data(), expected.outputs[o].data(), form, element_count(shape), scale, threads);
    check.max_error = std::max(check.max_error, std::min(c.max_error * scale, harness::max_reported_error));
    if (c.match || !check.ok()) continue;
    if (c.first_failure < 0) {
      check.outcome = "wrong_values";
      check.detail = fmt::format("output '{}' as a whole is {:.3g} times the allowed distance away", t.name, c.max_error);
    } else if (harness::is_poisoned(got.outputs[o].data(), c.first_failure, t.type, pattern)) {
      check.outcome = "unwritten";
      check.detail = fmt::format("output '{}' at {} was not written; {} of {} elements are wrong", t.name,
                                 position_text(c.first_failure, shape), c.failures, element_count(shape));
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
                                  harness::poison pattern, double timeout_s, int threads) {
  copy_inputs(*c.oracle, buffers, threads);
  fill_slack(buffers);
  for (harness::shared_buffer& b : buffers.outputs) harness::fill_poison(b.data(), b.bytes(), pattern, threads);
  auto called = process.call({&buffers}, timeout_s);
  if (!called) return tl::unexpected(called.error());
  check_result check;
  check.wall_ns = called->wall_ns;
  const auto finish = [&](std::string outcome, const std::string& detail) {
    check.outcome = std::move(outcome);
    check.detail = fmt::format("{}: {}", c.what, detail);
    return check;
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
  const check_result values = check_outputs(p, c.specs, buffers, *c.oracle, c.form, pattern, c.budget_scale, threads);
  check.max_error = values.max_error;
  if (!values.ok()) return finish(values.outcome, values.detail);
  if (c.precision_limit > 0 && values.max_error > c.precision_limit) {
    return finish("precision_broken",
                  fmt::format("the error is {:.3g} of the budget where the precision contract allows {:.3g}: something is computed "
                              "in less than {}",
                              values.max_error, c.precision_limit, name_of(p.precision.lowest)));
  }
  return check;
}

}  // namespace kernsmith::cpp
