// The embedded system: head and worker in this process, as one command needs it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/messages.hpp"
#include "actors/supervisor.hpp"

namespace kernsmith::actors {

/// Runs `requests` on an actor system of its own and returns a report or an error for each, in order. Blocks; `interrupt` (may be null) is
/// polled: once set, all sessions end soon and are reported as interrupted. `done` (may be empty) is called in this thread after each
/// session, in order.
[[nodiscard]] std::vector<session_result> run_embedded(supervisor_config config, const std::vector<session_request>& requests,
                                                       const std::atomic<bool>* interrupt,
                                                       const std::function<void(const session_result&)>& done);

}  // namespace kernsmith::actors
