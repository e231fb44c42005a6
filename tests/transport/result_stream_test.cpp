#include "transport/result_stream.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <zmq.hpp>

using namespace kernsmith;
using namespace kernsmith::transport;

namespace {

constexpr int receive_timeout_ms = 20'000;

memory::event sample_event(std::uint64_t seq, const std::string& topic) {
  return {"stream-1", seq, topic, "2026-01-02T03:04:05.006Z", {{"n", seq}}};
}

class subscriber {
 public:
  subscriber(const std::string& address, const std::string& topic) : socket_(context_, zmq::socket_type::sub) {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvhwm, 0);
    socket_.set(zmq::sockopt::rcvtimeo, receive_timeout_ms);
    socket_.set(zmq::sockopt::subscribe, topic);
    socket_.connect(address);
  }
  /// The next three frames; fails the test when none come.
  std::vector<std::string> receive() {
    std::vector<std::string> frames;
    do {
      zmq::message_t frame;
      REQUIRE(socket_.recv(frame));
      frames.push_back(frame.to_string());
    } while (socket_.get(zmq::sockopt::rcvmore) != 0);
    return frames;
  }
  /// A subscription takes a while to arrive at the publisher: knocks until something comes through.
  void join(result_stream& stream) {
    for (std::uint64_t n = 0;; ++n) {
      REQUIRE(n < 10'000);
      stream.publish(sample_event(0, "session.knock"));
      zmq::pollitem_t item{socket_.handle(), 0, ZMQ_POLLIN, 0};
      if (zmq::poll(&item, 1, std::chrono::milliseconds(5)) > 0) return;
    }
  }
  /// Skips the knocks.
  std::vector<std::string> receive_after_knocks() {
    for (;;) {
      auto frames = receive();
      if (frames[0] != "session.knock") return frames;
    }
  }

 private:
  zmq::context_t context_{1};
  zmq::socket_t socket_;
};

std::unique_ptr<result_stream> must_open(const std::string& address) {
  auto stream = result_stream::open(address);
  REQUIRE_MESSAGE(stream, (stream ? "" : stream.error().message));
  return *std::move(stream);
}

}  // namespace

TEST_CASE("an event is three frames: topic, header, payload") {
  const auto frames = frames_of(sample_event(7, "candidate.evaluated"));
  CHECK(frames.topic == "candidate.evaluated");
  CHECK(nlohmann::json::parse(frames.header) ==
        nlohmann::json{{"schema", "kernsmith.event/1"}, {"stream", "stream-1"}, {"seq", 7}, {"time", "2026-01-02T03:04:05.006Z"}});
  CHECK(nlohmann::json::parse(frames.payload) == nlohmann::json{{"n", 7}});
}

TEST_CASE("a subscriber gets what it asked for, in order, to the last event before the stream closes") {
  auto stream = must_open("tcp://127.0.0.1:0");
  CHECK(stream->address().starts_with("tcp://127.0.0.1:"));
  CHECK(stream->address() != "tcp://127.0.0.1:0");
  subscriber s(stream->address(), "session.");
  s.join(*stream);
  constexpr std::uint64_t events = 500;
  for (std::uint64_t n = 1; n <= events; ++n) stream->publish(sample_event(n, n % 2 == 0 ? "session.moved" : "candidate.made"));
  CHECK(stream->dropped() == 0);
  stream.reset();
  for (std::uint64_t n = 2; n <= events; n += 2) {
    const auto frames = s.receive_after_knocks();
    REQUIRE(frames.size() == 3);
    REQUIRE(frames[0] == "session.moved");
    REQUIRE(nlohmann::json::parse(frames[1])["seq"] == n);
  }
}

TEST_CASE("an address in use is an error a run can go on from") {
  const auto first = must_open("tcp://127.0.0.1:0");
  const auto second = result_stream::open(first->address());
  REQUIRE_FALSE(second);
  CHECK(second.error().kind == fault::infrastructure);
  CHECK(second.error().message.find(first->address()) != std::string::npos);
}

TEST_CASE("addresses that are none, or reach beyond this machine, are refused") {
  for (const char* address :
       {"", "nonsense", "tcp://0.0.0.0:5571", "tcp://*:5571", "tcp://192.0.2.1:5571", "tcp://127.0.0.1", "tcp://127.0.0.1:port"}) {
    const auto stream = result_stream::open(address);
    REQUIRE_FALSE(stream);
    CHECK_MESSAGE(stream.error().kind == fault::bad_request, address);
  }
}

TEST_CASE("nobody listening costs nothing and closes at once") {
  auto stream = must_open("tcp://127.0.0.1:*");
  for (std::uint64_t n = 1; n <= 100; ++n) stream->publish(sample_event(n, "session.moved"));
  stream.reset();
  CHECK(stream == nullptr);
}
