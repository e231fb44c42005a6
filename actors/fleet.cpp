#include "actors/caf.hpp"
//
#include "actors/fleet.hpp"

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "actors/profiler_slot.hpp"

namespace kernsmith::actors {
namespace {

// A job knows how to ask an actor for itself and how to fail; it is kept until it has been answered, so that it can be given out again.
struct job {
  std::function<void(std::shared_ptr<job>, const caf::strong_actor_ptr&)> ask;
  std::function<void(const error&)> give_up;
  int attempts = 0;
  int most_attempts = max_job_attempts;
  std::uint64_t incarnation = 0;  ///< of the worker it was last given to
};
using job_ptr = std::shared_ptr<job>;

// One evaluator or builder actor and what it needs to be started again.
struct worker {
  std::function<caf::strong_actor_ptr()> start;
  caf::strong_actor_ptr actor;  ///< null while dead
  std::uint64_t incarnation = 0;
  restart_policy restarts;
  bool given_up = false;
  std::deque<job_ptr> waiting;  ///< for the worker to be alive again
};

struct fleet_state {
  static inline const char* name = "fleet";
  fleet_config config;
  std::vector<worker> workers;                 ///< evaluators first, then the builders of slot 0, 1, ..., then profilers
  std::map<std::string, std::size_t> slot_of;  ///< session -> slot
  std::vector<std::size_t> next_builder;       ///< per slot
  std::size_t next_slot = 0;
};

using fleet_pointer = fleet_actor::stateful_pointer<fleet_state>;

void dispatch(worker& w, const job_ptr& j) {
  if (w.given_up) {
    j->give_up(error{fault::infrastructure, "this device slot died too often and is quarantined; see the log"});
    return;
  }
  if (!w.actor) {
    w.waiting.push_back(j);
    return;
  }
  ++j->attempts;
  j->incarnation = w.incarnation;
  j->ask(j, w.actor);
}

void on_job_error(fleet_pointer self, std::size_t index, const job_ptr& j, const caf::error& reason) {
  worker& w = self->state.workers[index];
  if (j->attempts >= j->most_attempts) {
    j->give_up(
        lost_actor(self->home_system(), "the job was given out " + std::to_string(j->attempts) + " times and lost each time", reason));
    return;
  }
  // The answer of a dead incarnation may arrive before or after the news of its death.
  if (w.actor && j->incarnation == w.incarnation)
    w.waiting.push_back(j);
  else
    dispatch(w, j);
}

void start(fleet_pointer self, worker& w) {
  w.actor = w.start();
  ++w.incarnation;
  self->monitor(caf::actor_cast<caf::actor_addr>(w.actor));
  std::deque<job_ptr> waiting;
  waiting.swap(w.waiting);
  for (const job_ptr& j : waiting) dispatch(w, j);
}

void on_death(fleet_pointer self, const caf::down_msg& down) {
  fleet_state& state = self->state;
  for (std::size_t i = 0; i < state.workers.size(); ++i) {
    worker& w = state.workers[i];
    if (!w.actor || caf::actor_cast<caf::actor_addr>(w.actor) != down.source) continue;
    w.actor = nullptr;
    if (const auto delay = w.restarts.died(state.config.now())) {
      spdlog::warn("fleet: slot worker {} died ({}); starting it again in {} ms", i, self->home_system().render(down.reason),
                   delay->count());
      self->delayed_send(self, *delay, revive_atom::value, static_cast<std::uint64_t>(i));
      return;
    }
    spdlog::error("fleet: slot worker {} died too often and is quarantined", i);
    w.given_up = true;
    std::deque<job_ptr> waiting;
    waiting.swap(w.waiting);
    for (const job_ptr& j : waiting) dispatch(w, j);
    return;
  }
}

// A job that asks an actor of type Handle with `arguments` and answers the promise with what it says.
template <class Handle, class Result, class... Arguments>
caf::typed_response_promise<Result> give(fleet_pointer self, std::size_t index, int most_attempts, Arguments... arguments) {
  auto promise = self->template make_response_promise<Result>();
  auto j = std::make_shared<job>();
  j->most_attempts = most_attempts;
  j->ask = [=](const job_ptr& me, const caf::strong_actor_ptr& target) {
    self->request(caf::actor_cast<Handle>(target), caf::infinite, arguments...)
        .then([promise](const Result& answer) mutable { promise.deliver(answer); },
              [self, index, me](const caf::error& reason) { on_job_error(self, index, me, reason); });
  };
  j->give_up = [promise](const error& why) mutable { promise.deliver(Result(tl::unexpected<error>(why))); };
  dispatch(self->state.workers[index], j);
  return promise;
}

std::size_t builder_index(fleet_state& state, std::size_t slot) {
  const std::size_t builders = state.config.cores.builders;
  const std::size_t index = state.config.cores.slots.size() + slot * builders + state.next_builder[slot];
  state.next_builder[slot] = (state.next_builder[slot] + 1) % builders;
  return index;
}

std::size_t profiler_index(const fleet_state& state, std::size_t slot) {
  const core_plan& cores = state.config.cores;
  return cores.slots.size() * (1 + cores.builders) + slot;
}

template <class Behavior>
void add_worker(fleet_pointer self, Behavior behavior, const slot_config& slot) {
  auto& system = self->home_system();
  worker w;
  w.start = [&system, behavior, slot, detached = self->state.config.detached] {
    return caf::actor_cast<caf::strong_actor_ptr>(detached ? system.spawn<caf::detached>(behavior, slot) : system.spawn(behavior, slot));
  };
  w.restarts = restart_policy(self->state.config.restarts);
  self->state.workers.push_back(std::move(w));
}

void add_workers(fleet_pointer self) {
  fleet_state& state = self->state;
  const fleet_config& config = state.config;
  const auto gate = std::make_shared<core_gate>(config.cores.shared);
  std::vector<slot_config> slots;
  for (const auto& cores : config.cores.slots)
    slots.push_back({cores, config.open, std::make_shared<admitted_problems>(), gate, std::make_shared<slot_lease>(), config.profile});
  for (const slot_config& slot : slots) add_worker(self, evaluator_slot, slot);
  for (const slot_config& slot : slots)
    for (std::size_t b = 0; b < config.cores.builders; ++b) add_worker(self, builder_slot, slot);
  for (const slot_config& slot : slots) add_worker(self, profiler_slot, slot);
  state.next_builder.assign(slots.size(), 0);
  for (worker& w : state.workers) start(self, w);
}

fleet_actor::behavior_type fleet(fleet_pointer self, fleet_config config) {
  guard(self, fleet_state::name);
  self->state.config = std::move(config);
  self->set_down_handler([self](const caf::down_msg& down) { on_death(self, down); });
  self->set_exit_handler([self](const caf::exit_msg& exit) {
    for (const worker& w : self->state.workers)
      if (w.actor) self->send_exit(caf::actor_cast<caf::actor>(w.actor), exit.reason);
    self->quit(exit.reason);
  });
  add_workers(self);
  const auto slot = [self](const std::string& session) {
    auto [place, fresh] = self->state.slot_of.try_emplace(session, self->state.next_slot);
    if (fresh) self->state.next_slot = (self->state.next_slot + 1) % self->state.config.cores.slots.size();
    return place->second;
  };
  return {
      [self, slot](admit_atom, const std::string& session, const problem_ptr& task, const std::string& target, std::uint64_t seed) {
        return give<evaluator_actor, admission_result>(self, slot(session), max_job_attempts, admit_atom::value, session, task, target,
                                                       seed);
      },
      [self, slot](build_atom, const std::string& session, const std::string& source) {
        return give<builder_actor, build_result>(self, builder_index(self->state, slot(session)), max_job_attempts, build_atom::value,
                                                 session, source);
      },
      [self, slot](evaluate_atom, const std::string& session, const harness::built_kernel& kernel, harness::effort how) {
        return give<evaluator_actor, measured_result>(self, slot(session), max_job_attempts, evaluate_atom::value, session, kernel, how);
      },
      [self, slot](control_atom, const std::string& session) {
        return give<evaluator_actor, control_answer>(self, slot(session), max_job_attempts, control_atom::value, session);
      },
      [self, slot](profile_atom, const std::string& session, const profile_job& what) {
        return give<profiler_actor, profile_result>(self, profiler_index(self->state, slot(session)), max_profile_attempts,
                                                    profile_atom::value, session, what);
      },
      [self, slot](release_atom, const std::string& session) {
        if (const worker& w = self->state.workers[slot(session)]; w.actor)
          self->send(caf::actor_cast<evaluator_actor>(w.actor), release_atom::value, session);
        self->state.slot_of.erase(session);
      },
      [self](revive_atom, std::uint64_t index) { start(self, self->state.workers.at(index)); },
  };
}

}  // namespace

fleet_actor spawn_fleet(caf::actor_system& system, fleet_config config) {
  return system.spawn(fleet, std::move(config));
}

}  // namespace kernsmith::actors
