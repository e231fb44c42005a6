#include "backends/external/call_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace kernsmith::external {

namespace {

/// Between buffers, and before the first and after the last of an area.
constexpr std::size_t guard_bytes = 256;

std::size_t rounded_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::size_t bytes_of_tensor(const tensor_declaration& t, const std::vector<std::int64_t>& axes) {
  return static_cast<std::size_t>(element_count(shape_of(t, axes))) * size_of(t.type);
}

/// Buffers are aligned like this whatever the areas are.
constexpr std::size_t buffer_alignment = 64;

/// Next free place after a tensor, or after the guard that opens an area.
std::size_t after(std::size_t at, std::size_t bytes) {
  return rounded_up(at + bytes + guard_bytes, buffer_alignment);
}

std::byte guard_byte(std::uint64_t pattern, std::size_t at) {
  const std::uint64_t mixed = (pattern + at / 8) * 0x9e3779b97f4a7c15ull;
  return static_cast<std::byte>(mixed >> (8 * (at % 8)) & 0xff);
}

}  // namespace

std::size_t call_memory::bytes_of(const problem& p, const std::vector<std::int64_t>& axes, std::size_t alignment) {
  std::size_t sum = 0;
  for (const std::vector<int>& side : {p.inputs(), p.outputs()}) {
    std::size_t end = guard_bytes;
    for (const int t : side) end = after(end, bytes_of_tensor(p.tensors[static_cast<std::size_t>(t)], axes));
    sum += rounded_up(end, alignment);
  }
  return sum;
}

result<call_memory> call_memory::place(const problem& p, const std::vector<device_call>& calls, std::size_t workspace_bytes,
                                       std::size_t alignment, std::size_t most_bytes, std::uint64_t entropy) {
  call_memory memory;
  memory.guard_ = entropy;
  const std::size_t areas = std::max(alignment, buffer_alignment);
  std::size_t end = 0;
  const auto place_side = [&](const std::vector<int>& side, const device_call& call, std::vector<placed_tensor>& into) -> area {
    const area where{end, 0};
    std::size_t next = rounded_up(end + guard_bytes, buffer_alignment);
    for (const int id : side) {
      const tensor_declaration& t = p.tensors[static_cast<std::size_t>(id)];
      into.push_back({next, bytes_of_tensor(t, call.expected->axes), t.type, shape_of(t, call.expected->axes), t.name});
      next = after(next, into.back().bytes);
    }
    end = rounded_up(next, areas);
    return {where.begin, end};
  };
  for (const device_call& call : calls) {
    placed_call& placed = memory.placed_.emplace_back();
    placed.call = call;
    placed.in = place_side(p.inputs(), call, placed.inputs);
    placed.out = place_side(p.outputs(), call, placed.outputs);
  }
  memory.workspace_begin_ = end;
  memory.workspace_bytes_ = rounded_up(workspace_bytes, areas);
  if (end + memory.workspace_bytes_ > most_bytes) {
    return fail(fault::bad_request,
                fmt::format("{}: a run needs {} MiB of device memory ({} MiB of them workspace), and the target has {} MiB",
                            p.path.string(), (end + memory.workspace_bytes_) >> 20, memory.workspace_bytes_ >> 20, most_bytes >> 20));
  }
  memory.image_.resize(end);
  for (const placed_call& placed : memory.placed_) {
    memory.fill_guards(placed.in.begin, placed.out.end);
    for (std::size_t i = 0; i < placed.inputs.size(); ++i)
      std::memcpy(memory.image_.data() + placed.inputs[i].offset, placed.call.expected->oracle->inputs[i].data(), placed.inputs[i].bytes);
    for (const placed_tensor& t : placed.outputs) harness::fill_poison(memory.image_.data() + t.offset, t.bytes, placed.call.pattern);
  }
  return memory;
}

void call_memory::fill_guards(std::size_t begin, std::size_t end) {
  for (std::size_t at = begin; at < end; ++at) image_[at] = guard_byte(guard_, at);
}

std::string call_memory::descriptor() const {
  std::string text = fmt::format("kernsmith-calls 1\nmemory {}\nworkspace {} {}\ncalls {}\n", image_.size(), workspace_begin_,
                                 workspace_bytes_, placed_.size());
  for (std::size_t c = 0; c < placed_.size(); ++c) {
    const placed_call& placed = placed_[c];
    text += fmt::format("call {} axes {}", c, placed.call.expected->axes.size());
    for (const std::int64_t extent : placed.call.expected->axes) text += fmt::format(" {}", extent);
    text += fmt::format(" inputs {} {} outputs {} {} tensors {} {}\n", placed.in.begin, placed.in.end, placed.out.begin, placed.out.end,
                        placed.inputs.size(), placed.outputs.size());
    const auto add = [&text](const char* side, std::size_t number, const placed_tensor& t) {
      text +=
          fmt::format("{} {} at {} bytes {} dtype {} rank {}", side, number, t.offset, t.bytes, static_cast<int>(t.type), t.shape.size());
      for (const std::int64_t extent : t.shape) text += fmt::format(" {}", extent);
      text += '\n';
    };
    for (std::size_t i = 0; i < placed.inputs.size(); ++i) add("in", i, placed.inputs[i]);
    for (std::size_t o = 0; o < placed.outputs.size(); ++o) add("out", o, placed.outputs[o]);
  }
  return text;
}

bool call_memory::take(std::vector<std::byte> image) {
  if (image.size() != image_.size()) return false;
  image_ = std::move(image);
  return true;
}

bool call_memory::guards_intact(const area& where, const std::vector<placed_tensor>& tensors) const {
  std::size_t at = where.begin;
  for (std::size_t t = 0; t <= tensors.size(); ++t) {
    const std::size_t end = t < tensors.size() ? tensors[t].offset : where.end;
    for (; at < end; ++at) {
      if (image_[at] != guard_byte(guard_, at)) return false;
    }
    if (t < tensors.size()) at += tensors[t].bytes;
  }
  return true;
}

result<cpp::check_result> call_memory::judge_outputs(const problem& p, const placed_call& placed, int threads) const {
  const cpp::test_case& c = *placed.call.expected;
  auto got = cpp::make_buffers(p, c.axes, harness::guard_side::after, cpp::output_form::native);
  if (!got) return tl::unexpected(got.error());
  for (std::size_t o = 0; o < placed.outputs.size(); ++o)
    std::memcpy((*got)->outputs[o].data(), image_.data() + placed.outputs[o].offset, placed.outputs[o].bytes);
  return cpp::check_outputs(p, c.specs, **got, *c.oracle, c.form, placed.call.pattern, c.budget_scale, threads);
}

result<cpp::check_result> call_memory::judge(const problem& p, std::size_t number, int threads) const {
  const placed_call& placed = placed_[number];
  cpp::check_result check;
  const auto failed = [&](std::string outcome, const std::string& detail) -> result<cpp::check_result> {
    check.outcome = std::move(outcome);
    check.detail = fmt::format("{}: {}", placed.call.expected->what, detail);
    return check;
  };
  if (!guards_intact(placed.in, placed.inputs)) return failed("out_of_bounds", "memory next to an input was written");
  if (!guards_intact(placed.out, placed.outputs)) return failed("out_of_bounds", "memory next to an output was written");
  for (std::size_t i = 0; i < placed.inputs.size(); ++i) {
    const placed_tensor& t = placed.inputs[i];
    if (!harness::same_bytes(image_.data() + t.offset, placed.call.expected->oracle->inputs[i].data(), t.bytes, threads))
      return failed("input_modified", fmt::format("input '{}' was changed", t.name));
  }
  auto values = judge_outputs(p, placed, threads);
  if (!values) return values;
  check = std::move(*values);
  if (!check.ok()) return failed(check.outcome, check.detail);
  const double limit = placed.call.expected->precision_limit;
  if (limit > 0 && check.max_error > limit) {
    return failed("precision_broken", fmt::format("the error is {:.3g} of the budget where the precision contract allows {:.3g}: something "
                                                  "is computed in less than {}",
                                                  check.max_error, limit, name_of(p.precision.lowest)));
  }
  return check;
}

}  // namespace kernsmith::external
