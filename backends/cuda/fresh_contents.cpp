#include "backends/cuda/fresh_contents.hpp"

#include <algorithm>
#include <cstddef>

#include "config/hash.hpp"
#include "config/input_values.hpp"

namespace kernsmith::cuda {

namespace {

constexpr std::size_t drawn_bytes = std::size_t{8} << 10;  // tensors up to here are drawn anew
constexpr std::size_t stretch_bytes = 256;
constexpr std::size_t changed_share = 64;  // one stretch in this many is rewritten
constexpr std::size_t max_stretches = 4096;
constexpr std::size_t small_alignment = 16;

bool order_means_something(const init_spec& init) {
  return init.which == init_spec::kind::sorted || init.which == init_spec::kind::arange || init.which == init_spec::kind::file ||
         init.which == init_spec::kind::constant;
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t n) {
  std::uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

result<fresh_contents> fresh_contents::draw(const std::shared_ptr<const device>& on, const problem& p,
                                            const std::vector<std::int64_t>& axes, std::size_t count, std::uint64_t seed) {
  fresh_contents made;
  made.p_ = &p;
  made.seed_ = seed;
  const std::vector<int> inputs = p.inputs();
  for (const int input : inputs) {
    const tensor_declaration& t = p.tensors[static_cast<std::size_t>(input)];
    const std::size_t bytes = static_cast<std::size_t>(element_count(shape_of(t, axes))) * size_of(t.type);
    const bool drawn = bytes <= drawn_bytes && t.init.which != init_spec::kind::file && t.init.which != init_spec::kind::constant;
    made.offsets_.push_back(drawn ? static_cast<std::int64_t>(made.set_bytes_) : -1);
    if (drawn) made.set_bytes_ += (bytes + small_alignment - 1) / small_alignment * small_alignment;
  }
  if (made.set_bytes_ == 0) return made;
  std::vector<std::byte> host(made.set_bytes_ * count);
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (made.offsets_[i] < 0) continue;
      std::byte* const to = host.data() + s * made.set_bytes_ + static_cast<std::size_t>(made.offsets_[i]);
      if (auto filled = fill_input(p, inputs[i], axes, mixed(seed, s * inputs.size() + i), content::as_declared, to); !filled)
        return tl::unexpected(filled.error());
    }
  }
  auto small = device_array::create(on, host.size());
  if (!small) return tl::unexpected(small.error());
  made.small_ = std::move(*small);
  if (auto ok = on->check(on->api().copy_to_device(made.small_.address(), host.data(), host.size()), "copying contents"); !ok)
    return tl::unexpected(ok.error());
  return made;
}

result<void> fresh_contents::apply(trusted_kernels& trusted, const device_buffers& pristine, const std::vector<device_buffers*>& sets,
                                   harness::renewal kind) const {
  std::vector<renewal_item> changes, rewrites;
  const std::vector<int> inputs = p_->inputs();
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const tensor_declaration& t = p_->tensors[static_cast<std::size_t>(inputs[i])];
      renewal_item item;
      item.to = sets[s]->inputs[i].address;
      item.from = pristine.inputs[i].address;
      item.element_bytes = static_cast<std::uint32_t>(size_of(t.type));
      item.elements = sets[s]->inputs[i].bytes / item.element_bytes;
      item.seed = mixed(seed_, (s * inputs.size() + i) ^ 0x5bd1e995u);
      if (offsets_[i] >= 0) {
        item.kind = renewal_item::copied;
        item.from = small_.address() + s * set_bytes_ + static_cast<std::size_t>(offsets_[i]);
        changes.push_back(item);
        continue;
      }
      if (kind == harness::renewal::part_rewritten) {
        rewrites.push_back(item);
        rewrites.back().kind = renewal_item::rewritten;
      }
      if (order_means_something(t.init)) continue;
      item.kind = kind == harness::renewal::whole ? renewal_item::turned : renewal_item::stretches;
      item.block_elements = std::min<std::uint64_t>(stretch_bytes / item.element_bytes, item.elements);
      item.blocks = std::clamp<std::uint64_t>(item.elements / item.block_elements / changed_share, 1, max_stretches);
      changes.push_back(item);
    }
  }
  if (auto done = trusted.renew(changes); !done) return done;
  return trusted.renew(rewrites);
}

}  // namespace kernsmith::cuda
