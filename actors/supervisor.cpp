#include "actors/caf.hpp"
//
#include "actors/supervisor.hpp"

#include <map>

namespace kernsmith::actors {
namespace {

// Children that can be started again; their numbers are revive_atom's argument.
enum replaceable : std::uint64_t { child_synthesizer = 0, child_publisher = 1 };

struct supervisor_state {
  static inline const char* name = "supervisor";
  supervisor_config config;
  librarian_actor librarian;
  publisher_actor publisher;
  synthesizer_actor synthesizer;
  fleet_actor fleet;
  presenter_actor presenter;
  coordinator_actor coordinator;
  std::map<std::uint64_t, restart_policy> restarts;
  std::map<std::uint64_t, caf::typed_response_promise<session_result>> running;
  std::uint64_t next_number = 0;
};

using supervisor_pointer = supervisor_actor::stateful_pointer<supervisor_state>;

template <class Handle>
caf::actor_addr address(const Handle& handle) {
  return caf::actor_cast<caf::actor_addr>(handle);
}

void start_synthesizer(supervisor_pointer self) {
  supervisor_state& state = self->state;
  state.synthesizer = state.config.spawn_synthesizer(self->home_system());
  self->monitor(state.synthesizer);
  if (state.coordinator) self->send(state.coordinator, replace_atom::value, state.synthesizer);
}

void start_publisher(supervisor_pointer self) {
  supervisor_state& state = self->state;
  state.publisher = self->home_system().spawn(publisher, state.config.publisher);
  self->monitor(state.publisher);
  if (state.librarian) self->send(state.librarian, replace_atom::value, state.publisher);
}

// Children in the order in which they depend on each other; shut_down() goes the other way.
void start_children(supervisor_pointer self) {
  supervisor_state& state = self->state;
  auto& system = self->home_system();
  start_publisher(self);
  const librarian_config books{state.config.store, state.publisher};
  state.librarian = state.config.detached ? system.spawn<caf::detached>(librarian, books) : system.spawn(librarian, books);
  start_synthesizer(self);
  fleet_config slots = state.config.fleet;
  slots.detached = state.config.detached;
  state.fleet = spawn_fleet(system, std::move(slots));
  state.presenter = system.spawn(presenter, state.config.presenter);
  coordinator_config sessions;
  sessions.parallel_sessions = state.config.parallel_sessions;
  sessions.planner.librarian = state.librarian;
  sessions.planner.synthesizer = state.synthesizer;
  sessions.planner.fleet = state.fleet;
  sessions.planner.presenter = state.presenter;
  sessions.planner.make_generators = state.config.make_generators;
  sessions.planner.baseline_source = state.config.baseline_source;
  sessions.planner.now = state.config.now;
  sessions.planner.clock_s = state.config.clock_s;
  state.coordinator = spawn_coordinator(system, std::move(sessions));
  self->monitor(state.librarian);
  self->monitor(state.fleet);
  self->monitor(state.coordinator);
}

void shut_down(supervisor_pointer self) {
  supervisor_state& state = self->state;
  constexpr auto reason = caf::exit_reason::user_shutdown;
  self->send_exit(state.coordinator, reason);
  self->send_exit(state.presenter, reason);
  self->send_exit(state.fleet, reason);
  self->send_exit(state.synthesizer, reason);
  self->send_exit(state.librarian, reason);
  self->send_exit(state.publisher, reason);
}

void escalate(supervisor_pointer self, const std::string& who, const caf::error& reason) {
  const std::string message =
      who + " died and can't be replaced: " + self->home_system().render(reason) + "; what was stored is safe, go on with --resume";
  spdlog::error("supervisor: {}", message);
  for (auto& [number, promise] : self->state.running) promise.deliver(session_result(tl::unexpected<error>(error{fault::bug, message})));
  self->state.running.clear();
  shut_down(self);
  self->quit(caf::make_error(caf::sec::runtime_error, message));
}

void revive_later(supervisor_pointer self, replaceable child, const char* who, const caf::error& reason) {
  supervisor_state& state = self->state;
  auto policy = state.restarts.try_emplace(child, state.config.restarts).first;
  const auto delay = policy->second.died(state.config.fleet.now());
  if (!delay) return escalate(self, who, reason);
  spdlog::warn("supervisor: the {} died ({}); starting it again in {} ms", who, self->home_system().render(reason), delay->count());
  self->delayed_send(self, *delay, revive_atom::value, static_cast<std::uint64_t>(child));
}

void on_death(supervisor_pointer self, const caf::down_msg& down) {
  supervisor_state& state = self->state;
  if (down.source == address(state.synthesizer)) return revive_later(self, child_synthesizer, "synthesizer", down.reason);
  if (down.source == address(state.publisher)) return revive_later(self, child_publisher, "publisher", down.reason);
  if (down.source == address(state.librarian)) return escalate(self, "the librarian", down.reason);
  if (down.source == address(state.fleet)) return escalate(self, "the fleet", down.reason);
  if (down.source == address(state.coordinator)) return escalate(self, "the coordinator", down.reason);
}

supervisor_actor::behavior_type supervisor(supervisor_pointer self, supervisor_config config) {
  guard(self, supervisor_state::name);
  self->state.config = std::move(config);
  if (!self->state.config.spawn_synthesizer)
    self->state.config.spawn_synthesizer = [](caf::actor_system& system) { return system.spawn(synthesizer); };
  self->set_down_handler([self](const caf::down_msg& down) { on_death(self, down); });
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    shut_down(self);
    self->quit(exit.reason);
  });
  start_children(self);
  return {
      [self](run_atom, const session_request& request) {
        supervisor_state& state = self->state;
        const std::uint64_t number = state.next_number++;
        auto promise = self->make_response_promise<session_result>();
        state.running.emplace(number, promise);
        const auto deliver = [self, number](const session_result& report) {
          if (auto waiting = self->state.running.extract(number)) waiting.mapped().deliver(report);
        };
        self->request(state.coordinator, caf::infinite, run_atom::value, request).then(deliver, [self, deliver](const caf::error& reason) {
          deliver(session_result(tl::unexpected<error>(
              error{fault::bug, lost_actor(self->home_system(), "the coordinator lost the session", reason).message})));
        });
        return promise;
      },
      [self](stop_atom, const std::string& reason) { self->send(self->state.coordinator, stop_atom::value, reason); },
      [self](revive_atom, std::uint64_t child) { child == child_synthesizer ? start_synthesizer(self) : start_publisher(self); },
  };
}

}  // namespace

supervisor_actor spawn_supervisor(caf::actor_system& system, supervisor_config config) {
  return system.spawn(supervisor, std::move(config));
}

}  // namespace kernsmith::actors
