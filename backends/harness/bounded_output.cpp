#include "backends/harness/bounded_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace kernsmith::harness {

bool bounded_output::drain(int pipe) {
  std::array<char, std::size_t{64} << 10> chunk;
  for (std::size_t drained = 0; drained < max_drain_bytes;) {
    const ssize_t got = ::read(pipe, chunk.data(), chunk.size());
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    append(chunk.data(), static_cast<std::size_t>(got));
    drained += static_cast<std::size_t>(got);
  }
  return true;
}

void bounded_output::append(const char* bytes, std::size_t count) {
  total_ += count;
  const std::size_t to_head = std::min(count, max_output_head_bytes - head_.size());
  head_.append(bytes, to_head);
  tail_.append(bytes + to_head, count - to_head);
  // Cut only when twice the size was reached, so that a flood of small writes doesn't move the tail each time.
  if (tail_.size() > 2 * max_output_tail_bytes) tail_.erase(0, tail_.size() - max_output_tail_bytes);
}

std::string bounded_output::text() const {
  if (total_ <= head_.size() + tail_.size()) {
    if (tail_.size() <= max_output_tail_bytes) return head_ + tail_;
  }
  const std::string_view tail = std::string_view(tail_).substr(tail_.size() - std::min(tail_.size(), max_output_tail_bytes));
  return fmt::format("{}\n[... {} bytes left out ...]\n{}", head_, total_ - head_.size() - tail.size(), tail);
}

}  // namespace kernsmith::harness
