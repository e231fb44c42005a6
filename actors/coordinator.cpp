#include "actors/caf.hpp"
//
#include "actors/coordinator.hpp"

#include <deque>
#include <map>

namespace kernsmith::actors {
namespace {

struct running_session {
  session_request request;
  caf::typed_response_promise<session_result> promise;
  planner_actor planner;
  int restarts = 0;
};

struct coordinator_state {
  static inline const char* name = "coordinator";
  coordinator_config config;
  std::deque<running_session> waiting;
  std::map<std::uint64_t, running_session> running;
  std::uint64_t next_number = 0;
  std::string stopping;
};

using coordinator_pointer = coordinator_actor::stateful_pointer<coordinator_state>;

void start_waiting(coordinator_pointer self);

void run_planner(coordinator_pointer self, std::uint64_t number) {
  coordinator_state& state = self->state;
  running_session& session = state.running.at(number);
  planner_config config = state.config.planner;
  config.request = session.request;
  session.planner = state.config.spawn(self->home_system(), std::move(config));
  self->request(session.planner, caf::infinite, run_atom::value)
      .then(
          [self, number](const session_result& report) {
            auto ended = self->state.running.extract(number);
            ended.mapped().promise.deliver(report);
            start_waiting(self);
          },
          [self, number](const caf::error& reason) {
            running_session& broken = self->state.running.at(number);
            if (++broken.restarts > max_planner_restarts) {
              auto ended = self->state.running.extract(number);
              ended.mapped().promise.deliver(
                  session_result(tl::unexpected<error>(error{fault::bug, "the planner of session " + ended.mapped().request.settings.id +
                                                                             " died repeatedly: " + self->home_system().render(reason)})));
              return start_waiting(self);
            }
            spdlog::warn("coordinator: a planner died ({}); its session goes on from the store", self->home_system().render(reason));
            broken.request.resume = true;
            run_planner(self, number);
          });
  if (!state.stopping.empty()) self->send(session.planner, stop_atom::value, state.stopping);
}

void start_waiting(coordinator_pointer self) {
  coordinator_state& state = self->state;
  while (!state.waiting.empty() && state.running.size() < state.config.parallel_sessions) {
    running_session next = std::move(state.waiting.front());
    state.waiting.pop_front();
    if (!state.stopping.empty()) {
      next.promise.deliver(session_result(tl::unexpected<error>(
          error{fault::interrupted, "interrupted before the session of " + next.request.settings.problem_name + " began"})));
      continue;
    }
    const std::uint64_t number = state.next_number++;
    state.running.emplace(number, std::move(next));
    run_planner(self, number);
  }
}

coordinator_actor::behavior_type coordinator(coordinator_pointer self, coordinator_config config) {
  guard(self, coordinator_state::name);
  self->state.config = std::move(config);
  if (!self->state.config.spawn) self->state.config.spawn = spawn_planner;
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    for (auto& [number, session] : self->state.running) self->send_exit(session.planner, exit.reason);
    self->quit(exit.reason);
  });
  return {
      [self](run_atom, const session_request& request) {
        auto promise = self->make_response_promise<session_result>();
        self->state.waiting.push_back({request, promise, {}, 0});
        start_waiting(self);
        return promise;
      },
      [self](stop_atom, const std::string& reason) {
        self->state.stopping = reason;
        for (auto& [number, session] : self->state.running) self->send(session.planner, stop_atom::value, reason);
        start_waiting(self);
      },
      [self](replace_atom, const synthesizer_actor& synthesizer) {
        self->state.config.planner.synthesizer = synthesizer;
        for (auto& [number, session] : self->state.running) self->send(session.planner, replace_atom::value, synthesizer);
      },
  };
}

}  // namespace

coordinator_actor spawn_coordinator(caf::actor_system& system, coordinator_config config) {
  return system.spawn(coordinator, std::move(config));
}

}  // namespace kernsmith::actors
