// Writing many elements quickly: random bits in blocks, conversion in blocks, tables for narrow dtypes. Internal to config/.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "config/dtype.hpp"
#include "config/random.hpp"

namespace kernsmith {

/// What one fill works on.
struct fill_job {
  dtype type;
  std::uint64_t seed;
  std::uint64_t count;
  std::uint64_t row;         ///< elements along the last dimension
  std::int64_t index_limit;  ///< integers are wrapped into [0, index_limit) where it is above 0
  void* data;
};

inline constexpr std::size_t block_elements = 512;
inline constexpr std::size_t draw_table_size = std::size_t{1} << 16;
/// From here on a table of all 2^16 draws is cheaper than drawing.
inline constexpr std::uint64_t draw_table_elements = 4 * draw_table_size;

inline std::int64_t wrapped_into(std::int64_t value, std::int64_t limit) {
  if (limit <= 0 || (value >= 0 && value < limit)) return value;
  const std::int64_t rest = value % limit;
  return rest < 0 ? rest + limit : rest;
}

inline void store_block(void* array, std::uint64_t first, dtype type, std::span<const double> values) {
  store_from_double(array, first, type, values);
}
inline void store_block(void* array, std::uint64_t first, dtype type, std::span<const std::int64_t> values) {
  store_from_int64(array, first, type, values);
}

template <class Value>
Value limited(const fill_job& job, Value value) {
  if constexpr (std::is_same_v<Value, std::int64_t>)
    return wrapped_into(value, job.index_limit);
  else
    return value;
}

/// Element i is `make(i)`, a double or an int64. Called in order, once for each element.
template <class Make>
void write_each(const fill_job& job, Make make) {
  using value = std::invoke_result_t<Make, std::uint64_t>;
  std::array<value, block_elements> block;
  for (std::uint64_t first = 0; first < job.count; first += block_elements) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, job.count - first));
    for (std::size_t i = 0; i < size; ++i) block[i] = limited(job, make(first + i));
    store_block(job.data, first, job.type, std::span<const value>(block.data(), size));
  }
}

template <class Element>
void copy_draws(const fill_job& job, const void* table) {
  const auto* drawn = static_cast<const Element*>(table);
  auto* out = static_cast<Element*>(job.data);
  std::uint64_t i = 0;
  for (; i + 4 <= job.count; i += 4) {
    const std::uint64_t bits = random_bits(job.seed, i / 4);
    for (std::uint64_t k = 0; k < 4; ++k) out[i + k] = drawn[(bits >> (16 * k)) & 0xFFFFu];
  }
  for (const std::uint64_t bits = random_bits(job.seed, i / 4), first = i; i < job.count; ++i)
    out[i] = drawn[(bits >> (16 * (i - first))) & 0xFFFFu];
}

/// Each element is `draw(bits)` of 32 random bits. Large tensors of one- and two-byte elements see the 2^16 draws at evenly spaced bits: at
/// their precision the difference is nil, and drawing each anew would take many times as long.
template <class Draw>
void write_drawn(const fill_job& job, Draw draw) {
  using value = std::invoke_result_t<Draw, std::uint32_t>;
  const std::size_t width = size_of(job.type);
  if (width <= 2 && job.count >= draw_table_elements) {
    std::vector<std::uint16_t> table(draw_table_size * width / 2);
    fill_job tabulated = job;
    tabulated.count = draw_table_size;
    tabulated.data = table.data();
    write_each(tabulated, [&](std::uint64_t i) { return draw(static_cast<std::uint32_t>(i << 16 | 0x8000u)); });
    return width == 1 ? copy_draws<std::uint8_t>(job, table.data()) : copy_draws<std::uint16_t>(job, table.data());
  }
  std::array<value, block_elements> block;
  for (std::uint64_t first = 0; first < job.count; first += block_elements) {
    for (std::size_t pair = 0; pair < block_elements / 2; ++pair) {
      const std::uint64_t bits = random_bits(job.seed, first / 2 + pair);
      block[2 * pair] = limited(job, draw(static_cast<std::uint32_t>(bits)));
      block[2 * pair + 1] = limited(job, draw(static_cast<std::uint32_t>(bits >> 32)));
    }
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(block_elements, job.count - first));
    store_block(job.data, first, job.type, std::span<const value>(block.data(), size));
  }
}

/// Every element the same.
template <class Value>
void write_same(const fill_job& job, Value value) {
  const Value kept = limited(job, value);
  const std::size_t width = size_of(job.type);
  const std::size_t bytes = static_cast<std::size_t>(job.count) * width;
  if (bytes == 0) return;
  store_block(job.data, 0, job.type, std::span<const Value>(&kept, 1));
  auto* out = static_cast<char*>(job.data);
  for (std::size_t done = width; done < bytes; done *= 2) std::memcpy(out + done, out, std::min(done, bytes - done));
}

/// One draw for each row.
template <class Draw>
void write_rows(const fill_job& job, Draw draw) {
  fill_job row = job;
  row.count = job.row;
  for (std::uint64_t r = 0; r * job.row < job.count; ++r) {
    row.data = static_cast<char*>(job.data) + static_cast<std::size_t>(r * job.row) * size_of(job.type);
    write_same(row, draw(random_half(job.seed, r)));
  }
}

}  // namespace kernsmith
