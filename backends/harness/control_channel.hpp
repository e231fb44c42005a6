// The verifier's end of the control channel: one message out, one message in, nothing believed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/harness/process.hpp"
#include "backends/harness/wire.hpp"

namespace kernsmith::harness {

/// A request under construction.
class request_message {
 public:
  request_message(wire::request_kind kind, std::uint32_t count, std::uint64_t sequence);
  template <class T>
  void append(const T& record) {
    append_bytes(&record, sizeof record);
  }
  void append_bytes(const void* bytes, std::size_t count);
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// A message of the runner, its lengths checked.
struct answer_message {
  wire::answer_header header{};
  std::vector<double> times;  ///< of done and refused
  std::string text;           ///< of load_failed, broken and device_failed; printable
};

enum class receive_status : std::uint8_t { message, nothing, closed, malformed };

class control_channel {
 public:
  /// Makes the pair; `far_end` goes to the runner and must then be closed here.
  [[nodiscard]] static result<control_channel> make(descriptor& far_end);

  [[nodiscard]] int get() const { return end_.get(); }
  /// False when the other end is gone.
  [[nodiscard]] bool send(std::span<const std::byte> message, int with_descriptor = -1) const;
  /// Takes one message without waiting.
  [[nodiscard]] receive_status receive(answer_message& into) const;
  void close() { end_.reset(); }

 private:
  descriptor end_;
};

}  // namespace kernsmith::harness
