#include "backends/cuda/device_buffers.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace kernsmith::cuda {

namespace {

constexpr std::size_t alignment = 64;          // what the kernel's contract promises
constexpr std::size_t packed_alignment = 512;  // what an allocator would give
constexpr std::size_t gap_bytes = 4096;        // between packed tensors

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

dtype stored_type(const tensor_declaration& t, output_form form) {
  if (t.role == tensor_role::input || form == output_form::native) return t.type;
  return is_float(t.type) ? dtype::f64 : dtype::i64;
}

/// Adds one tensor that lies at `offset` behind its block's data.
void add_tensor(device_buffers& to, const tensor_declaration& t, dtype type, std::shared_ptr<device_block> block, std::size_t offset) {
  const std::vector<std::int64_t> shape = shape_of(t, to.axes);
  const auto bytes = static_cast<std::size_t>(element_count(shape)) * size_of(type);
  const bool output = t.role == tensor_role::output;
  (output ? to.set.outputs : to.set.inputs).push_back({block.get(), type, shape, output, offset});
  const driver::device_address address = block->data() + offset;
  (output ? to.outputs : to.inputs).push_back({std::move(block), address, bytes});
}

result<void> list_slack(const std::shared_ptr<const device>& on, device_buffers& buffers) {
  const std::size_t bytes = buffers.slack.size() * sizeof(byte_range);
  auto list = device_array::create(on, std::max(bytes, sizeof(byte_range)));
  if (!list) return tl::unexpected(list.error());
  buffers.slack_list = std::move(*list);
  return on->check(on->api().copy_to_device(buffers.slack_list.address(), buffers.slack.data(), bytes), "copying a list");
}

}  // namespace

result<std::shared_ptr<device_block>> device_block::create(std::shared_ptr<const device> on, std::size_t bytes, harness::guard_side side) {
  std::shared_ptr<device_block> made(new device_block);
  made->on_ = std::move(on);
  made->bytes_ = bytes;
  const std::size_t whole = round_up(std::max<std::size_t>(bytes, 1), made->on_->granularity());
  const driver::allocation_properties properties;
  const driver::driver& api = made->on_->api();
  driver::memory_handle memory = 0;
  if (auto ok = made->on_->check(api.create(&memory, whole, &properties, 0), fmt::format("taking {} MiB", whole >> 20)); !ok)
    return tl::unexpected(ok.error());
  auto mapped = made->on_->check(driver::map_between_guards(api, memory, whole, made->on_->ordinal(), made->start_), "mapping a buffer");
  auto exported = made->on_->check(api.export_handle(&made->descriptor_, memory, driver::handle_is_descriptor, 0), "exporting a buffer");
  (void)api.release(memory);  // the mapping keeps it
  if (mapped) made->mapped_bytes_ = whole;
  if (!mapped) return tl::unexpected(mapped.error());
  if (!exported) return tl::unexpected(exported.error());
  made->data_offset_ = side == harness::guard_side::after ? (whole - bytes) / alignment * alignment : 0;
  return made;
}

device_block::~device_block() {
  if (mapped_bytes_ > 0) driver::unmap_with_guards(on_->api(), start_, mapped_bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t device_buffers::input_bytes() const {
  std::size_t sum = 0;
  for (const device_tensor& t : inputs) sum += t.bytes;
  return sum;
}

std::size_t device_buffers::output_bytes() const {
  std::size_t sum = 0;
  for (const device_tensor& t : outputs) sum += t.bytes;
  return sum;
}

result<std::unique_ptr<device_buffers>> make_device_buffers(const std::shared_ptr<const device>& on, const problem& p,
                                                            const std::vector<std::int64_t>& axes, harness::guard_side side,
                                                            output_form form) {
  auto made = std::make_unique<device_buffers>();
  made->axes = made->set.axes = axes;
  for (const tensor_declaration& t : p.tensors) {  // inputs, then outputs, each in file order
    if (t.role == tensor_role::intermediate) continue;
    const dtype type = stored_type(t, form);
    const auto bytes = static_cast<std::size_t>(element_count(shape_of(t, axes))) * size_of(type);
    auto block = device_block::create(on, bytes, side);
    if (!block) return tl::unexpected(block.error());
    const driver::device_address begin = (*block)->start(), data = (*block)->data(), end = begin + (*block)->file_bytes();
    add_tensor(*made, t, type, std::move(*block), 0);
    for (const byte_range& range : {byte_range{begin, data}, byte_range{data + bytes, end}}) {
      made->slack.push_back(range);
      made->neighbour.push_back(t.name);
    }
  }
  if (auto listed = list_slack(on, *made); !listed) return tl::unexpected(listed.error());
  return made;
}

result<std::vector<std::unique_ptr<device_buffers>>> make_packed_buffers(const std::shared_ptr<const device>& on, const problem& p,
                                                                         const std::vector<std::int64_t>& axes, std::size_t count) {
  std::size_t set_bytes = gap_bytes;
  for (const tensor_declaration& t : p.tensors) {
    if (t.role == tensor_role::intermediate) continue;
    set_bytes += round_up(static_cast<std::size_t>(element_count(shape_of(t, axes))) * size_of(t.type), packed_alignment) + gap_bytes;
  }
  auto block = device_block::create(on, count * set_bytes, harness::guard_side::before);
  if (!block) return tl::unexpected(block.error());
  std::vector<std::unique_ptr<device_buffers>> sets;
  for (std::size_t s = 0; s < count; ++s) {
    auto made = std::make_unique<device_buffers>();
    made->axes = made->set.axes = axes;
    std::size_t at = s * set_bytes;
    for (const tensor_declaration& t : p.tensors) {
      if (t.role == tensor_role::intermediate) continue;
      const driver::device_address before = (*block)->data() + at;
      add_tensor(*made, t, t.type, *block, at + gap_bytes);
      const device_tensor& bound = t.role == tensor_role::output ? made->outputs.back() : made->inputs.back();
      const std::size_t taken = round_up(bound.bytes, packed_alignment);
      made->slack.push_back({before, before + gap_bytes});
      made->slack.push_back({bound.address + bound.bytes, bound.address + taken});
      made->neighbour.insert(made->neighbour.end(), 2, t.name);
      at += gap_bytes + taken;
    }
    if (auto listed = list_slack(on, *made); !listed) return tl::unexpected(listed.error());
    sets.push_back(std::move(made));
  }
  return sets;
}

}  // namespace kernsmith::cuda
