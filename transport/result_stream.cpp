#include "transport/result_stream.hpp"

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <zmq.hpp>

#include "memory/codec.hpp"

namespace kernsmith::transport {
namespace {

constexpr int send_high_water_messages = 10'000;
constexpr int heartbeat_ms = 10'000;

/// Threads started while this lives take no signals: those are for the main thread.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

 private:
  sigset_t before_{};
};

bool is_private(const std::string& address) {
  for (const char* prefix : {"tcp://127.", "tcp://localhost:", "tcp://[::1]:", "ipc://"}) {
    if (address.starts_with(prefix)) return true;
  }
  return false;
}

/// Owns the socket on a thread of its own, as ZeroMQ asks; the queue is the only thing shared.
class publisher final : public result_stream {
 public:
  explicit publisher(zmq::context_t context, zmq::socket_t socket)
      : context_(std::move(context)), socket_(std::move(socket)), address_(socket_.get(zmq::sockopt::last_endpoint)) {
    const signals_blocked guard;
    sender_ = std::thread([this] { send_all(); });
  }

  ~publisher() override {
    {
      const std::lock_guard guard(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    sender_.join();
  }

  void publish(const memory::event& e) override {
    auto frames = frames_of(e);
    {
      const std::lock_guard guard(mutex_);
      if (queue_.size() >= max_queued_events) {
        ++dropped_;
        return;
      }
      queue_.push_back(std::move(frames));
    }
    wake_.notify_one();
  }

  const std::string& address() const override { return address_; }
  std::uint64_t dropped() const override { return dropped_; }

 private:
  std::optional<event_frames> next() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return std::nullopt;
    auto frames = std::move(queue_.front());
    queue_.pop_front();
    return frames;
  }

  void send_all() {
    while (auto frames = next()) {
      try {
        socket_.send(zmq::buffer(frames->topic), zmq::send_flags::sndmore);
        socket_.send(zmq::buffer(frames->header), zmq::send_flags::sndmore);
        socket_.send(zmq::buffer(frames->payload), zmq::send_flags::none);
      } catch (const zmq::error_t&) {
        ++dropped_;
      }
    }
    socket_.close();
  }

  zmq::context_t context_;
  zmq::socket_t socket_;
  std::string address_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<event_frames> queue_;
  bool closing_ = false;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::thread sender_;
};

}  // namespace

event_frames frames_of(const memory::event& e) {
  const nlohmann::json header{{"schema", "kernsmith.event/1"}, {"stream", e.stream}, {"seq", e.seq}, {"time", e.time}};
  return {e.topic, memory::to_json_text(header, -1), memory::to_json_text(e.payload, -1)};
}

result<std::unique_ptr<result_stream>> result_stream::open(const std::string& address) {
  if (!is_private(address)) {
    return fail(fault::bad_request,
                fmt::format("the result stream can't be bound to '{}': it is not encrypted, so give a loopback address such as {}", address,
                            default_stream_address));
  }
  const signals_blocked guard;
  try {
    zmq::context_t context(1);
    zmq::socket_t socket(context, zmq::socket_type::pub);
    // The default would wait without end for a subscriber that has stopped reading.
    socket.set(zmq::sockopt::linger, stream_linger_ms);
    socket.set(zmq::sockopt::sndhwm, send_high_water_messages);
    socket.set(zmq::sockopt::ipv6, address.starts_with("tcp://[") ? 1 : 0);
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    socket.set(zmq::sockopt::heartbeat_ivl, heartbeat_ms);
    socket.bind(address);
    return std::make_unique<publisher>(std::move(context), std::move(socket));
  } catch (const zmq::error_t& e) {
    if (e.num() == EINVAL || e.num() == EPROTONOSUPPORT || e.num() == ENODEV) {
      return fail(fault::bad_request, fmt::format("'{}' is no address for the result stream ({}); give one such as {}", address, e.what(),
                                                  default_stream_address));
    }
    return fail(
        fault::infrastructure,
        fmt::format("the result stream can't be bound to {} ({}): another kernsmith may have it; results are not published, everything "
                    "else goes on",
                    address, e.what()));
  }
}

}  // namespace kernsmith::transport
