// The bounded head and tail of what a process wrote, drained from a non-blocking pipe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kernsmith::harness {

inline constexpr std::size_t max_output_head_bytes = std::size_t{32} << 10;
inline constexpr std::size_t max_output_tail_bytes = std::size_t{32} << 10;

class bounded_output {
 public:
  /// Reads what the pipe holds now (at most `max_drain_bytes` at a time, so that a flood can't hold the caller). False at its end.
  bool drain(int pipe);
  void append(const char* bytes, std::size_t count);
  /// Head and tail, with a line between them that says how much was left out.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::uint64_t total_bytes() const { return total_; }

 private:
  static constexpr std::size_t max_drain_bytes = std::size_t{1} << 20;
  std::string head_, tail_;
  std::uint64_t total_ = 0;
};

}  // namespace kernsmith::harness
