// The runner's end of the control channel.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backends/harness/wire.hpp"

namespace kernsmith::runner {

namespace wire = harness::wire;

/// One message of the verifier, with the descriptor that came along (-1: none).
struct message {
  wire::request_header header{};
  std::span<const std::byte> body;
  int descriptor = -1;
};

/// Blocks for the next request; its body is valid until the next one. Ends the process when the verifier is gone.
[[nodiscard]] message receive();

/// Sends an answer; `tail` follows the header. Ends the process when the verifier is gone.
void answer(const wire::answer_header& header, std::span<const std::byte> tail = {});

/// Sends what stopped the runner, and ends it.
[[noreturn]] void give_up(wire::answer_kind kind, std::string_view text, std::int32_t code = 0);

}  // namespace kernsmith::runner
