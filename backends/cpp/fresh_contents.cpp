#include "backends/cpp/fresh_contents.hpp"

#include <algorithm>
#include <cstring>

#include "config/hash.hpp"
#include "config/input_values.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::size_t refilled_bytes = std::size_t{8} << 10;  // tensors up to here are filled anew
constexpr std::size_t block_bytes = 256;
constexpr std::size_t changed_share = 64;  // one block in this many is rewritten
constexpr std::size_t max_blocks = 1024;   // per tensor and call

bool order_means_something(const init_spec& init) {
  return init.which == init_spec::kind::sorted || init.which == init_spec::kind::arange || init.which == init_spec::kind::file ||
         init.which == init_spec::kind::constant;
}

std::uint64_t next(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

result<void> freshen(const problem& p, const kernel_buffers& source, kernel_buffers& target, std::uint64_t seed) {
  const std::vector<int> inputs = p.inputs();
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(inputs[i])];
    const std::size_t bytes = target.inputs[i].bytes(), element = size_of(t.type), elements = bytes / element;
    if (bytes <= refilled_bytes) {
      if (t.init.which == init_spec::kind::file) continue;
      if (auto filled = fill_input(p, inputs[i], target.axes, next(state), content::as_declared, target.inputs[i].data()); !filled)
        return filled;
      continue;
    }
    if (order_means_something(t.init)) continue;
    const std::size_t block = block_bytes / element;
    const std::size_t blocks = std::clamp<std::size_t>(elements / block / changed_share, 1, max_blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t to = next(state) % (elements - block + 1), from = next(state) % (elements - block + 1);
      std::memcpy(target.inputs[i].data() + to * element, source.inputs[i].data() + from * element, block * element);
    }
  }
  return {};
}

result<void> renew(const problem& p, const kernel_buffers& source, kernel_buffers& target, std::uint64_t seed) {
  if (auto changed = freshen(p, source, target, seed); !changed) return changed;
  const std::vector<int> inputs = p.inputs();
  std::uint64_t state = seed ^ 0x5bd1e995u;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(inputs[i])];
    const std::size_t bytes = target.inputs[i].bytes(), element = size_of(t.type);
    if (bytes <= refilled_bytes || order_means_something(t.init)) continue;
    const std::size_t shift = (1 + next(state) % (bytes / element - 1)) * element;
    std::memcpy(target.inputs[i].data(), source.inputs[i].data() + shift, bytes - shift);
    std::memcpy(target.inputs[i].data() + (bytes - shift), source.inputs[i].data(), shift);
  }
  return {};
}

result<void> freshen_rewriting(const problem& p, const kernel_buffers& source, kernel_buffers& target, std::uint64_t seed) {
  if (auto changed = freshen(p, source, target, seed); !changed) return changed;
  std::vector<std::byte> held;
  for (harness::shared_buffer& b : target.inputs) {
    constexpr std::size_t piece = std::size_t{64} << 10;
    held.resize(piece);
    for (std::size_t at = 0; at < b.bytes(); at += piece) {
      const std::size_t count = std::min(piece, b.bytes() - at);
      std::memcpy(held.data(), b.data() + at, count);
      std::memcpy(b.data() + at, held.data(), count);
    }
  }
  return {};
}

}  // namespace kernsmith::cpp
