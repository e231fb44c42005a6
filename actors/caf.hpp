// The one door to CAF 0.17.6: what its traps require of every actor is done here once, so that a move to CAF 1.x changes this file and the
// handlers' signatures only. Precompiled; included by the .cpp files of this folder, never by a header outside it.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/after.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/replies_to.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <spdlog/spdlog.h>

#include "config/error.hpp"

namespace kernsmith::actors {

/// "<what the actor was asked>: <CAF's reason>" as one of our errors.
[[nodiscard]] inline error lost_actor(const caf::actor_system& system, const std::string& what, const caf::error& reason) {
  return error{fault::infrastructure, what + ": " + const_cast<caf::actor_system&>(system).render(reason)};
}

/// Every actor calls this first. CAF prints unexpected messages to stdout and lets an exception pass silently to whoever waits; both are
/// logged instead, and the actor ends, so that its supervisor decides.
template <class Self>
void guard(Self* self, const char* name) {
  self->set_default_handler([name](caf::scheduled_actor*, caf::message_view& message) -> caf::result<caf::message> {
    spdlog::error("{}: unexpected message {}", name, caf::to_string(message.move_content_to_message()));
    return caf::make_error(caf::sec::unexpected_message);
  });
  self->set_exception_handler([name](caf::scheduled_actor*, std::exception_ptr& thrown) -> caf::error {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& e) {
      spdlog::error("{}: {}", name, e.what());
      return caf::make_error(caf::sec::runtime_error, std::string(name) + ": " + e.what());
    } catch (...) {
      spdlog::error("{}: unknown exception", name);
      return caf::make_error(caf::sec::runtime_error, std::string(name) + ": unknown exception");
    }
  });
}

}  // namespace kernsmith::actors
