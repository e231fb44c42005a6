#include <algorithm>
#include <cstring>
#include <vector>

#include "backends/harness/comparison.hpp"
#include "backends/harness/in_parts.hpp"

namespace kernsmith::harness {

namespace {

constexpr std::size_t page_bytes = 4096, line_bytes = 64;
constexpr std::int64_t bytes_per_thread = std::int64_t{1} << 20;  // below this a thread costs more than it saves

}  // namespace

void copy_bytes(void* to, const void* from, std::size_t bytes, int threads) {
  in_parts(static_cast<std::int64_t>(bytes), bytes_per_thread, threads, [&](int, std::int64_t begin, std::int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, static_cast<std::size_t>(end - begin));
  });
}

bool same_bytes(const void* a, const void* b, std::size_t bytes, int threads) {
  std::vector<char> same(static_cast<std::size_t>(std::max(threads, 1)), 1);
  in_parts(static_cast<std::int64_t>(bytes), bytes_per_thread, threads, [&](int part, std::int64_t begin, std::int64_t end) {
    same[static_cast<std::size_t>(part)] =
        std::memcmp(static_cast<const char*>(a) + begin, static_cast<const char*>(b) + begin, static_cast<std::size_t>(end - begin)) == 0
            ? 1
            : 0;
  });
  return std::all_of(same.begin(), same.end(), [](char s) { return s == 1; });
}

poison poison::not_a_number() {
  return {0x7fffffff7fffffffull};
}

poison poison::finite(std::uint64_t random) {
  // Exponent bits of every float type that the word may be read as stay away from all ones, and no byte is 0 or 1 (a valid bool).
  return {(random & 0x3f3f3f3f3f3f3f3full) | 0x0202020202020202ull};
}

void fill_poison(void* data, std::size_t bytes, poison pattern, int threads) {
  // Parts start at multiples of the word, so that the pattern runs on across them.
  const auto words = static_cast<std::int64_t>(bytes / sizeof(pattern.word));
  if (threads > 1 && static_cast<std::int64_t>(bytes) > bytes_per_thread) {
    in_parts(
        words, bytes_per_thread / static_cast<std::int64_t>(sizeof(pattern.word)), threads, [&](int, std::int64_t begin, std::int64_t end) {
          fill_poison(static_cast<std::uint64_t*>(data) + begin, static_cast<std::size_t>(end - begin) * sizeof(pattern.word), pattern);
        });
    const std::size_t done = static_cast<std::size_t>(words) * sizeof(pattern.word);
    return fill_poison(static_cast<std::byte*>(data) + done, bytes - done, pattern);
  }
  auto* to = static_cast<std::byte*>(data);
  const std::size_t whole = bytes / sizeof(pattern.word);
  for (std::size_t i = 0; i < whole; ++i) std::memcpy(to + i * sizeof(pattern.word), &pattern.word, sizeof(pattern.word));
  std::memcpy(to + whole * sizeof(pattern.word), &pattern.word, bytes % sizeof(pattern.word));
}

void fill_poison_sampled(void* data, std::size_t bytes, poison pattern, std::uint64_t random) {
  if (bytes <= page_bytes) return fill_poison(data, bytes, pattern);
  auto* to = static_cast<std::byte*>(data);
  for (std::size_t page = 0; page < bytes; page += page_bytes) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    const std::size_t at = page + (random >> 58) * line_bytes;
    if (at < bytes) fill_poison(to + at, std::min(line_bytes, bytes - at), pattern);
  }
  fill_poison(to + (bytes - 1) / line_bytes * line_bytes, (bytes - 1) % line_bytes + 1, pattern);  // the tail is what gets forgotten
}

bool is_poisoned(const void* data, std::int64_t index, dtype type, poison pattern) {
  const std::size_t size = size_of(type), offset = static_cast<std::size_t>(index) * size;
  return std::memcmp(static_cast<const std::byte*>(data) + offset,
                     reinterpret_cast<const std::byte*>(&pattern.word) + offset % sizeof(pattern.word), size) == 0;
}

}  // namespace kernsmith::harness
