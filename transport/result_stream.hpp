// Committed events to whoever subscribes, over ZeroMQ PUB: three frames per event, [topic][header][payload]
// (docs/formats/result-stream.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "config/error.hpp"
#include "memory/records.hpp"

namespace kernsmith::transport {

inline constexpr const char* default_stream_address = "tcp://127.0.0.1:5571";
/// Events that wait for the sending thread. PUB never blocks, so the queue only grows in bursts; what finds it full is dropped and counted.
inline constexpr std::size_t max_queued_events = 10'000;
/// How long closing waits for the last events to reach the network.
inline constexpr int stream_linger_ms = 200;

/// The three frames of one event.
struct event_frames {
  std::string topic, header, payload;
};
[[nodiscard]] event_frames frames_of(const memory::event& e);

class result_stream {
 public:
  /// Binds; port 0 or '*' takes a free port. The stream is neither encrypted nor authenticated, so only loopback and ipc:// addresses are
  /// taken. Errors: bad_request (not an address, not loopback); infrastructure (in use, no permission): a run may go on without the stream
  /// and say so.
  [[nodiscard]] static result<std::unique_ptr<result_stream>> open(const std::string& address = default_stream_address);
  /// Sends what is queued, then closes.
  virtual ~result_stream() = default;

  /// Never blocks; safe from any thread. Subscribers see the events in the order of the calls.
  virtual void publish(const memory::event& e) = 0;
  /// The address bound, with its real port.
  [[nodiscard]] virtual const std::string& address() const = 0;
  /// Events that found the queue full.
  [[nodiscard]] virtual std::uint64_t dropped() const = 0;
};

}  // namespace kernsmith::transport
