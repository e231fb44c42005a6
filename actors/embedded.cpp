#include "actors/caf.hpp"
//
#include "actors/embedded.hpp"

namespace kernsmith::actors {
namespace {

constexpr std::chrono::milliseconds poll_period_ms{100};
constexpr std::size_t scheduler_threads = 2;

// Actors think little and wait much: two workers and the sharing policy, which costs nothing while idle and so doesn't disturb
// measurements.
struct system_config : caf::actor_system_config {
  system_config() {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", scheduler_threads);
    set("scheduler.max-throughput", std::size_t{300});
  }
};

}  // namespace

std::vector<session_result> run_embedded(supervisor_config config, const std::vector<session_request>& requests,
                                         const std::atomic<bool>* interrupt, const std::function<void(const session_result&)>& done) {
  system_config settings;
  caf::actor_system system(settings);
  std::vector<session_result> reports(requests.size(), fail(fault::infrastructure, "the session was not run"));
  {
    caf::scoped_actor self(system);
    const supervisor_actor root = spawn_supervisor(system, std::move(config));
    std::size_t answered = 0, told = 0;
    std::vector<bool> known(requests.size());
    const auto tell = [&] {
      while (told < known.size() && known[told]) {
        if (done) done(reports[told]);
        ++told;
      }
    };
    bool stopping = false;
    // One blocking receive loop serves all answers: each request gets a small collector that hands its answer on with its number.
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto collector =
          system.spawn([root, request = requests[i], i, waiter = caf::actor_cast<caf::actor>(self)](caf::event_based_actor* me) {
            me->request(root, caf::infinite, run_atom::value, request)
                .then([me, i, waiter](const session_result& report) { me->send(waiter, static_cast<std::uint64_t>(i), report); },
                      [me, i, waiter](const caf::error& reason) {
                        me->send(waiter, static_cast<std::uint64_t>(i),
                                 session_result(
                                     tl::unexpected<error>(error{fault::bug, "the supervisor died: " + me->home_system().render(reason)})));
                      });
          });
      (void)collector;
    }
    while (answered < requests.size()) {
      self->receive(
          [&](std::uint64_t number, const session_result& report) {
            reports[number] = report;
            known[number] = true;
            ++answered;
            tell();
          },
          caf::after(poll_period_ms) >>
              [&] {
                if (stopping || !interrupt || !interrupt->load()) return;
                stopping = true;
                self->send(root, stop_atom::value, std::string("interrupted"));
              });
    }
    self->send_exit(root, caf::exit_reason::user_shutdown);
  }
  system.await_all_actors_done();
  return reports;
}

}  // namespace kernsmith::actors
