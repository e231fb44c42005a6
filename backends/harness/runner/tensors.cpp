#include "backends/harness/runner/tensors.hpp"

#include <cstring>
#include <string>

namespace kernsmith::runner {

namespace {

/// Reads `count` records of T from the front of `body` and moves it on; gives up on a message that is too short.
template <class T>
std::vector<T> take(std::span<const std::byte>& body, std::size_t count) {
  if (body.size() / sizeof(T) < count) give_up(wire::answer_kind::broken, "a request of the verifier is cut short");
  std::vector<T> records(count);
  if (count > 0) std::memcpy(records.data(), body.data(), count * sizeof(T));
  body = body.subspan(count * sizeof(T));
  return records;
}

}  // namespace

std::size_t bytes_of(const ks_tensor& tensor) {
  constexpr std::size_t sizes[] = {8, 4, 2, 2, 1, 1, 8, 4, 2, 1, 1, 1};  // by ks_dtype
  std::size_t bytes = tensor.dtype >= KS_F64 && tensor.dtype <= KS_BOOL ? sizes[tensor.dtype] : 0;
  for (std::int32_t d = 0; d < tensor.rank; ++d) bytes *= static_cast<std::size_t>(tensor.shape[d]);
  return bytes;
}

std::uint64_t tensor_store::map(const message& request) {
  auto body = request.body;
  const wire::map_body what = take<wire::map_body>(body, 1).front();
  if (request.descriptor < 0) give_up(wire::answer_kind::broken, "a buffer came without its descriptor: too many are open");
  mapped_buffer buffer;
  buffer.start = space_.map(request.descriptor, what);
  buffer.file_bytes = what.file_bytes;
  buffer.data = buffer.start + what.data_offset;
  buffers_.push_back(buffer);
  return buffer.data;
}

void tensor_store::add(const message& request) {
  auto body = request.body;
  const wire::set_body sizes = take<wire::set_body>(body, 1).front();
  const std::vector<wire::tensor_body> tensors = take<wire::tensor_body>(body, std::size_t{sizes.inputs} + sizes.outputs);
  const std::vector<std::int64_t> axes = take<std::int64_t>(body, sizes.axes);
  auto set = std::make_unique<tensor_set>();
  std::size_t extents = axes.size();
  for (const auto& tensor : tensors) extents += 2 * std::size_t{tensor.rank};
  set->extents.reserve(extents);  // the pointers below stay valid
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const wire::tensor_body& from = tensors[i];
    if (from.buffer >= buffers_.size() || from.rank > wire::max_rank)
      give_up(wire::answer_kind::broken, "a tensor names a buffer that is not there");
    const std::int64_t* const shape = set->extents.data() + set->extents.size();
    set->extents.insert(set->extents.end(), from.shape, from.shape + from.rank);
    std::int64_t* const strides = set->extents.data() + set->extents.size();
    set->extents.resize(set->extents.size() + from.rank);
    std::int64_t stride = 1;
    for (std::uint32_t d = from.rank; d-- > 0; stride *= from.shape[d]) strides[d] = stride;
    void* const data = reinterpret_cast<void*>(buffers_[from.buffer].data + from.offset);
    const ks_tensor tensor{data, from.dtype, static_cast<std::int32_t>(from.rank), shape, strides};
    (i < sizes.inputs ? set->inputs : set->outputs).push_back(tensor);
  }
  set->axes = set->extents.data() + set->extents.size();
  set->extents.insert(set->extents.end(), axes.begin(), axes.end());
  set->n_axes = static_cast<std::int32_t>(axes.size());
  sets_.push_back(std::move(set));
}

void tensor_store::drop() {
  space_.forget_captures();
  sets_.clear();
  for (const mapped_buffer& buffer : buffers_) space_.unmap(buffer.start, buffer.file_bytes);
  buffers_.clear();
}

tensor_set* tensor_store::find(std::uint32_t number) {
  return number < sets_.size() ? sets_[number].get() : nullptr;
}

}  // namespace kernsmith::runner
