#include "backends/harness/control_channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace kernsmith::harness {

request_message::request_message(wire::request_kind kind, std::uint32_t count, std::uint64_t sequence) {
  append(wire::request_header{kind, count, sequence});
}

void request_message::append_bytes(const void* bytes, std::size_t count) {
  const std::size_t before = bytes_.size();
  bytes_.resize(before + count);
  if (count > 0) std::memcpy(bytes_.data() + before, bytes, count);
}

result<control_channel> control_channel::make(descriptor& far_end) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(fault::infrastructure, errno_text("making a control channel", errno));
  control_channel made;
  made.end_ = descriptor(ends[0]);
  far_end = descriptor(ends[1]);
  return made;
}

bool control_channel::send(std::span<const std::byte> message, int with_descriptor) const {
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (with_descriptor >= 0) {
    packet.msg_control = ancillary;
    packet.msg_controllen = sizeof ancillary;
    cmsghdr* const extra = CMSG_FIRSTHDR(&packet);
    extra->cmsg_level = SOL_SOCKET;
    extra->cmsg_type = SCM_RIGHTS;
    extra->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(extra), &with_descriptor, sizeof(int));
  }
  // Never waits: a runner that is ready has an empty queue, and one whose queue is full doesn't listen.
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(end_.get(), &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(message.size());
}

receive_status control_channel::receive(answer_message& into) const {
  alignas(16) static thread_local std::array<std::byte, wire::max_message_bytes> buffer;
  ssize_t got = 0;
  // No room for ancillary data: descriptors that a candidate sends along are dropped by the kernel, not collected here.
  do {
    got = ::recv(end_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? receive_status::nothing : receive_status::closed;
  if (got == 0) return receive_status::closed;
  const auto size = static_cast<std::size_t>(got);
  if (size < sizeof into.header) return receive_status::malformed;
  std::memcpy(&into.header, buffer.data(), sizeof into.header);
  const std::byte* const tail = buffer.data() + sizeof into.header;
  const std::size_t tail_bytes = size - sizeof into.header;
  into.times.clear();
  into.text.clear();
  switch (into.header.kind) {
    case wire::answer_kind::loaded:
    case wire::answer_kind::fault:
      return receive_status::message;
    case wire::answer_kind::done:
    case wire::answer_kind::refused:
      if (into.header.count > wire::max_batch_calls || tail_bytes != into.header.count * sizeof(double)) return receive_status::malformed;
      into.times.resize(into.header.count);
      if (tail_bytes > 0) std::memcpy(into.times.data(), tail, tail_bytes);
      return receive_status::message;
    case wire::answer_kind::load_failed:
    case wire::answer_kind::broken:
    case wire::answer_kind::device_failed:
    case wire::answer_kind::unable:
      if (into.header.count > wire::max_text_bytes || tail_bytes != into.header.count) return receive_status::malformed;
      into.text.assign(reinterpret_cast<const char*>(tail), tail_bytes);
      std::replace_if(
          into.text.begin(), into.text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
      return receive_status::message;
  }
  return receive_status::malformed;
}

}  // namespace kernsmith::harness
