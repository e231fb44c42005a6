#include "backends/harness/runner/channel.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace kernsmith::runner {

namespace {

alignas(16) std::byte request_bytes[wire::max_message_bytes];

[[noreturn]] void end_without_verifier() {
  ::_exit(0);
}

}  // namespace

message receive() {
  for (;;) {
    iovec part{request_bytes, sizeof request_bytes};
    alignas(cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))];
    msghdr packet{};
    packet.msg_iov = &part;
    packet.msg_iovlen = 1;
    packet.msg_control = ancillary;
    packet.msg_controllen = sizeof ancillary;
    const ssize_t got = ::recvmsg(wire::control_descriptor, &packet, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < static_cast<ssize_t>(sizeof(wire::request_header))) end_without_verifier();
    message received;
    std::memcpy(&received.header, request_bytes, sizeof received.header);
    received.body = std::span(request_bytes + sizeof received.header, static_cast<std::size_t>(got) - sizeof received.header);
    const cmsghdr* extra = CMSG_FIRSTHDR(&packet);
    if (extra != nullptr && extra->cmsg_type == SCM_RIGHTS) std::memcpy(&received.descriptor, CMSG_DATA(extra), sizeof(int));
    return received;
  }
}

void answer(const wire::answer_header& header, std::span<const std::byte> tail) {
  iovec parts[2] = {{const_cast<wire::answer_header*>(&header), sizeof header}, {const_cast<std::byte*>(tail.data()), tail.size()}};
  msghdr packet{};
  packet.msg_iov = parts;
  packet.msg_iovlen = tail.empty() ? 1 : 2;
  while (::sendmsg(wire::control_descriptor, &packet, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) end_without_verifier();
  }
}

void give_up(wire::answer_kind kind, std::string_view text, std::int32_t code) {
  const std::string_view cut = text.substr(0, wire::max_text_bytes);
  wire::answer_header header{};
  header.kind = kind;
  header.code = code;
  header.count = static_cast<std::uint32_t>(cut.size());
  answer(header, std::as_bytes(std::span(cut.data(), cut.size())));
  ::_exit(1);
}

}  // namespace kernsmith::runner
