#include "backends/cpp/kernel_process.hpp"

#include <fmt/format.h>

#include "backends/harness/comparison.hpp"

namespace kernsmith::cpp {

namespace {

dtype output_type(const tensor_declaration& tensor, output_form form) {
  if (form == output_form::native) return tensor.type;
  return is_float(tensor.type) ? dtype::f64 : dtype::i64;
}

result<void> add_tensor(const tensor_declaration& tensor, dtype type, const std::vector<std::int64_t>& axes, harness::guard_side side,
                        std::vector<harness::shared_buffer>& buffers) {
  const auto bytes = static_cast<std::size_t>(element_count(shape_of(tensor, axes))) * size_of(type);
  auto buffer = harness::shared_buffer::create(tensor.name, bytes, side);
  if (!buffer) return tl::unexpected(buffer.error());
  buffers.push_back(std::move(*buffer));
  return {};
}

}  // namespace

std::size_t kernel_buffers::input_bytes() const {
  std::size_t sum = 0;
  for (const harness::shared_buffer& b : inputs) sum += b.bytes();
  return sum;
}

std::size_t kernel_buffers::output_bytes() const {
  std::size_t sum = 0;
  for (const harness::shared_buffer& b : outputs) sum += b.bytes();
  return sum;
}

std::size_t buffer_bytes(const problem& p, const std::vector<std::int64_t>& axes, output_form form) {
  std::size_t sum = 0;
  for (const tensor_declaration& t : p.tensors) {
    if (t.role == tensor_role::intermediate) continue;
    const dtype type = t.role == tensor_role::input ? t.type : output_type(t, form);
    sum += static_cast<std::size_t>(element_count(shape_of(t, axes))) * size_of(type);
  }
  return sum;
}

result<std::unique_ptr<kernel_buffers>> make_buffers(const problem& p, const std::vector<std::int64_t>& axes, harness::guard_side side,
                                                     output_form form) {
  auto made = std::make_unique<kernel_buffers>();
  made->axes = axes;
  for (const int i : p.inputs()) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(i)];
    if (auto added = add_tensor(t, t.type, axes, side, made->inputs); !added) return tl::unexpected(added.error());
  }
  for (const int o : p.outputs()) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(o)];
    if (auto added = add_tensor(t, output_type(t, form), axes, side, made->outputs); !added) return tl::unexpected(added.error());
  }
  made->set.axes = axes;
  const std::vector<int> inputs = p.inputs(), outputs = p.outputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(inputs[i])];
    made->set.inputs.push_back({&made->inputs[i], t.type, shape_of(t, axes), false});
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(outputs[o])];
    made->set.outputs.push_back({&made->outputs[o], output_type(t, form), shape_of(t, axes), true});
  }
  return made;
}

void copy_inputs(const kernel_buffers& from, kernel_buffers& to, int threads) {
  for (std::size_t i = 0; i < from.inputs.size(); ++i) {
    harness::copy_bytes(to.inputs[i].data(), from.inputs[i].data(), from.inputs[i].bytes(), threads);
  }
}

result<kernel_process> kernel_process::start(const harness::runner_options& options, kernel_clock& clock) {
  auto runner = harness::runner_client::start(options);
  if (!runner) return tl::unexpected(runner.error());
  kernel_process process;
  process.runner_ = std::move(*runner);
  process.clock_ = &clock;
  process.outputs_follow_ = options.trusted && options.outputs_follow;
  process.new_set_allowance_s_ = options.new_set_allowance_s;
  process.renewable_ = options.renewable && options.trusted && !options.host.empty();
  return process;
}

result<bool> kernel_process::renew() {
  if (!renewable_ || !runner_->alive()) return false;
  numbers_.clear();
  if (auto renewed = runner_->renew(); !renewed) return tl::unexpected(renewed.error());
  return true;
}

result<void> kernel_process::forget_sets() {
  runner_->thaw();
  numbers_.clear();
  return runner_->drop_sets();
}

result<harness::call_result> kernel_process::call(const std::vector<kernel_buffers*>& sets, double timeout_s, after_call after) {
  if (after == after_call::stands_still) (void)runner_->empty_call_ns();  // measured now: asked for later, it would set the process going
  std::vector<int> numbers;
  for (const kernel_buffers* set : sets) {
    auto known = numbers_.find(set);
    if (known == numbers_.end()) {
      auto number = runner_->add_set(set->set);
      if (!number) return tl::unexpected(number.error());
      known = numbers_.emplace(set, *number).first;
      timeout_s += new_set_allowance_s_;
    }
    numbers.push_back(known->second);
  }
  harness::call_result answer = runner_->call(numbers, timeout_s);
  // An empty call is answered when what the last one computed is in its outputs; that is not part of its time.
  if (outputs_follow_ && answer.status == harness::call_status::ok && !sets.empty()) {
    const harness::call_result followed = runner_->call({}, timeout_s);
    if (followed.status != harness::call_status::ok) answer = followed;
  }
  if (after == after_call::stands_still && runner_->alive()) (void)runner_->freeze();
  clock_->kernel_s += answer.wall_ns * 1e-9;
  if (answer.status == harness::call_status::lost) {
    return fail(fault::infrastructure, fmt::format("a runner was lost while it ran a kernel: {}", answer.detail));
  }
  return answer;
}

std::string outcome_of(harness::call_status status) {
  switch (status) {
    case harness::call_status::ok:
      return "";
    case harness::call_status::wrong_shape:
      return "wrong_shape";
    case harness::call_status::wrong_dtype:
      return "wrong_dtype";
    case harness::call_status::refused:
      return "refused";
    case harness::call_status::crashed:
    case harness::call_status::exited:
      return "crashed";
    case harness::call_status::out_of_bounds:
      return "out_of_bounds";
    case harness::call_status::timeout:
      return "timeout";
    case harness::call_status::resource_limit:
      return "resource_limit";
    case harness::call_status::lost:
      return "infrastructure";
  }
  return "infrastructure";
}

}  // namespace kernsmith::cpp
