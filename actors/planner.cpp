#include "actors/caf.hpp"
//
#include "actors/planner_state.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "config/hash.hpp"
#include "memory/similarity.hpp"

namespace kernsmith::actors {
namespace {

constexpr std::size_t max_stored_log_bytes = 64u << 10;

void do_generate(planner_pointer self, const agents::generate_step& s) {
  const std::int64_t id = s.what.id;
  self->request(self->state.config.synthesizer, caf::infinite, generate_atom::value, self->state.makers, s.what)
      .then(
          [self, id](const proposal_result& made) {
            self->state.core->on_generated(id, made);
            drive(self);
          },
          [self, id](const caf::error& reason) {
            // A generator that throws costs one candidate.
            self->state.core->on_generated(id, tl::unexpected<error>(lost_actor(self->home_system(), "the synthesizer failed", reason)));
            drive(self);
          });
}

void do_build(planner_pointer self, const agents::build_step& s) {
  const auto key = std::make_pair(s.move_id, s.final_round);
  self->request(self->state.config.fleet, caf::infinite, build_atom::value, self->state.config.request.settings.id, s.source)
      .then(
          [self, key](const build_result& built) {
            agents::build_report report;
            if (!built) {
              if (built.error().kind == fault::interrupted) {
                self->state.core->on_abandoned(key.first, key.second);
                return drive(self);
              }
              report.outcome = "infrastructure";
              report.detail = built.error().message;
            } else {
              report = {built->outcome, built->detail, built->log.substr(0, max_stored_log_bytes), built->machine_code, built->build_s};
              self->state.built[key] = *built;
            }
            self->state.core->on_built(key.first, key.second, report);
            drive(self);
          },
          lost(self, "building a candidate"));
}

void do_evaluate(planner_pointer self, const agents::evaluate_step& s) {
  planner_state& state = self->state;
  const auto key = std::make_pair(s.move_id, s.final_round);
  auto kernel = state.built.extract(key);
  show(self, s.final_round ? "final measurement" : "searching");
  self->request(state.config.fleet, caf::infinite, evaluate_atom::value, state.config.request.settings.id, kernel.mapped(),
                s.final_round ? harness::effort::final : harness::effort::search)
      .then(
          [self, key](const measured_result& done) {
            memory::evaluation evaluation;
            if (done) {
              evaluation = done->evaluation;
              self->state.spent = done->spent;
              if (!done->samples.empty())
                if (const auto c = self->state.core->candidate_of(key.first)) self->state.samples[c->id] = done->samples;
            } else if (done.error().kind == fault::interrupted) {
              self->state.core->on_abandoned(key.first, key.second);
              return drive(self);
            } else if (done.error().kind == fault::missing_here) {
              // The device is gone: no candidate's doing, and nothing that others could be measured on. What was stored stays, to be
              // resumed.
              self->state.halted = done.error().message;
              self->state.core->on_abandoned(key.first, key.second);
              return drive(self);
            } else {
              evaluation.outcome = "infrastructure";
              evaluation.detail = done.error().message;
              evaluation.stage = "verify";
            }
            self->state.core->on_evaluated(key.first, key.second, evaluation);
            drive(self);
          },
          lost(self, "evaluating a candidate"));
}

void do_record(planner_pointer self, const agents::record_step& s) {
  planner_state& state = self->state;
  auto batch = std::make_shared<memory::write_batch>();
  memory::candidate candidate = s.candidate;
  memory::evaluation evaluation = s.evaluation;
  candidate.created = evaluation.finished = state.config.now();
  if (!s.source.empty()) candidate.source_blob = batch->put_blob(s.source);
  if (!s.log.empty()) evaluation.log_blob = batch->put_blob(s.log);
  if (!s.final_round) batch->put(candidate);
  batch->put(evaluation);
  if (evaluation.outcome == "passed" && s.final_round)
    batch->put_vector("candidate", candidate.id, memory::candidate_features(*state.config.request.task, candidate.parameters));
  batch->emit("candidate.evaluated", {{"session", evaluation.session},
                                      {"candidate", evaluation.candidate},
                                      {"evaluation", evaluation.id},
                                      {"outcome", evaluation.outcome},
                                      {"effort", evaluation.effort},
                                      {"speedup", evaluation.speedup}});
  self->request(state.config.librarian, caf::infinite, commit_atom::value, batch)
      .then(
          [self, id = s.move_id, final_round = s.final_round, candidate, evaluation](const commit_result& committed) {
            if (!committed) return fail_session(self, committed.error());
            self->state.core->on_recorded(id, final_round, candidate, evaluation);
            show(self, final_round ? "final measurement" : "searching", &evaluation);
            drive(self);
          },
          lost(self, "storing an evaluation"));
}

void do_control(planner_pointer self) {
  show(self, "control");
  self->request(self->state.config.fleet, caf::infinite, control_atom::value, self->state.config.request.settings.id)
      .then(
          [self](const control_answer& control) {
            if (control) {
              self->state.core->on_control(*control);
            } else if (control.error().kind == fault::interrupted || control.error().kind == fault::missing_here) {
              if (control.error().kind == fault::missing_here) self->state.halted = control.error().message;
              self->state.core->stop("interrupted");
            } else {
              return fail_session(self, control.error());
            }
            drive(self);
          },
          lost(self, "the A/A control"));
}

session_report make_report(planner_pointer self, const memory::session& finished) {
  planner_state& state = self->state;
  session_report report;
  report.task = state.config.request.task;
  report.session = finished;
  report.history = state.core->history();
  report.replayed = state.core->replayed();
  report.halted = state.halted;
  report.spent = state.spent;
  report.samples = state.samples;
  for (std::int64_t id = 0;; ++id) {
    const auto candidate = state.core->candidate_of(id);
    if (!candidate) break;
    report.candidates.push_back(*candidate);
  }
  for (const memory::evaluation& e : report.history)
    if (e.candidate == finished.best && e.effort == "final") report.best = e;
  for (const memory::candidate& c : report.candidates)
    if (c.id == finished.best) report.best_candidate = c;
  report.best_source = state.core->source_of(finished.best);
  return report;
}

void do_finish(planner_pointer self, const agents::finish_step& s) {
  planner_state& state = self->state;
  memory::session finished = s.session;
  finished.wall_s += state.config.clock_s() - state.started_s;
  finished.cost.build_s += state.spent.build_s;
  finished.cost.kernel_s += state.spent.kernel_s;
  finished.cost.own_s += state.spent.own_s;
  finished.finished = state.config.now();
  auto batch = std::make_shared<memory::write_batch>();
  batch->put(finished);
  batch->emit(finished.state == "interrupted" ? "session.interrupted" : "session.finished", {{"session", finished.id},
                                                                                             {"problem", finished.problem_name},
                                                                                             {"stopped_by", finished.stopped_by},
                                                                                             {"best", finished.best},
                                                                                             {"speedup", finished.best_speedup}});
  const auto done = [self, finished](const commit_result& committed) {
    if (!committed) return fail_session(self, committed.error());
    show(self, "finished");
    answer(self, make_report(self, finished));
  };
  if (finished.best.empty()) {
    self->request(state.config.librarian, caf::infinite, commit_atom::value, batch).then(done, lost(self, "storing the session"));
    return;
  }
  const session_report report = make_report(self, finished);
  const memory::champion champion{finished.problem, finished.target,       finished.fingerprint.device, finished.best,    report.best.id,
                                  finished.id,      finished.problem_name, finished.best_speedup,       finished.finished};
  self->request(state.config.librarian, caf::infinite, crown_atom::value, batch, champion).then(done, lost(self, "storing the session"));
}

}  // namespace

void answer(planner_pointer self, session_result outcome) {
  planner_state& state = self->state;
  if (state.answered) return;
  state.answered = true;
  state.promise.deliver(std::move(outcome));
  self->send(state.config.fleet, release_atom::value, state.config.request.settings.id);
  self->quit();
}

void fail_session(planner_pointer self, const error& why) {
  answer(self, tl::unexpected<error>(why));
}

void drive(planner_pointer self) {
  if (self->state.answered) return;
  self->state.core->set_elapsed(elapsed_s(self));
  for (const agents::step& s : self->state.core->poll()) {
    if (const auto* generate = std::get_if<agents::generate_step>(&s))
      do_generate(self, *generate);
    else if (const auto* build = std::get_if<agents::build_step>(&s))
      do_build(self, *build);
    else if (const auto* evaluate = std::get_if<agents::evaluate_step>(&s))
      do_evaluate(self, *evaluate);
    else if (const auto* record = std::get_if<agents::record_step>(&s))
      do_record(self, *record);
    else if (std::holds_alternative<agents::control_step>(s))
      do_control(self);
    else if (const auto* profile = std::get_if<agents::profile_step>(&s))
      do_profile(self, *profile);
    else if (const auto* annotate = std::get_if<agents::annotate_step>(&s))
      do_annotate(self, *annotate);
    else if (const auto* finish = std::get_if<agents::finish_step>(&s))
      do_finish(self, *finish);
  }
}

namespace {

std::vector<agents::warm_start> parse_warm_starts(const std::vector<std::string>& stored) {
  std::vector<agents::warm_start> starts;
  for (const std::string& text : stored) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (json.is_discarded()) continue;
    starts.push_back(
        {json.value("generator", std::size_t{0}), json.value("decisions", agents::assignment{}), json.value("from", std::string())});
  }
  return starts;
}

// The search begins: everything that decides its course is fixed in the session record now, so that a resume sees the same.
void begin_search(planner_pointer self, memory::session session, agents::session_history history) {
  planner_state& state = self->state;
  agents::search_settings settings{session.policy, session.seed, session.budget, session.stop_at, session.stall, session.lookahead, true};
  auto search = agents::make_search(settings, state.maker_pointers, parse_warm_starts(session.warm_starts));
  if (!search) return fail_session(self, search.error());
  state.search = std::move(*search);
  session.fingerprint = state.machine.machine;
  for (memory::baseline_timing& fresh : state.machine.baselines) {
    for (const memory::baseline_timing& told : session.baselines) {  // before a resume
      if (told.name != fresh.name) continue;
      fresh.diagnosis = told.diagnosis;
      fresh.profile_blob = told.profile_blob;
    }
  }
  session.baselines = state.machine.baselines;
  session.state = "running";
  if (session.started.empty()) session.started = state.config.now();
  std::vector<std::string> names;
  for (const auto& maker : state.makers) names.push_back(maker->space().name);
  session.synthesizers = names;
  auto batch = std::make_shared<memory::write_batch>();
  batch->put(session);
  batch->put_problem(session.problem, session.problem_name, state.config.request.settings.problem_blob);
  batch->put_vector("problem", session.problem, memory::problem_features(*state.config.request.task));
  batch->emit(history.evaluations.empty() ? "session.started" : "session.resumed",
              {{"session", session.id}, {"problem", session.problem_name}, {"target", session.target}, {"budget", session.budget}});
  state.core = std::make_unique<agents::session_core>(session, *state.search, state.maker_pointers, std::move(history));
  if (state.config.baseline_source)
    state.core->set_baseline_source(state.config.baseline_source(*state.config.request.task, session.target));
  if (!state.stop_before_start.empty()) state.core->stop(state.stop_before_start);
  if (session.time_limit_s > 0)
    self->delayed_send(self, std::chrono::milliseconds(static_cast<std::int64_t>(session.time_limit_s * 1000)), tick_atom::value);
  self->request(state.config.librarian, caf::infinite, commit_atom::value, batch)
      .then(
          [self](const commit_result& committed) {
            if (!committed) return fail_session(self, committed.error());
            drive(self);
          },
          lost(self, "storing the session"));
}

void find_warm_starts(planner_pointer self, memory::session session) {
  planner_state& state = self->state;
  self->request(state.config.librarian, caf::infinite, similar_atom::value, state.config.request.task, session.target, max_warm_starts)
      .then(
          [self, session](const similar_list& found) mutable {
            for (const similar_champion& c : found) {
              if (c.similarity < min_warm_similarity) continue;
              const auto& makers = self->state.makers;
              const auto maker =
                  std::find_if(makers.begin(), makers.end(), [&](const auto& m) { return m->space().name == c.candidate.synthesizer; });
              if (maker == makers.end()) continue;
              session.warm_starts.push_back(nlohmann::json{
                  {"generator", maker - makers.begin()},
                  {"decisions", c.candidate.parameters},
                  {"from", c.candidate.id},
                  {"problem", c.problem_name}}.dump());
            }
            begin_search(self, session, {});
          },
          lost(self, "looking for similar problems"));
}

void after_admission(planner_pointer self, const admission& machine, bool resumed, agents::session_history history) {
  planner_state& state = self->state;
  state.machine = machine;
  auto makers = state.config.make_generators(*state.config.request.task, state.config.request.settings.target, machine);
  if (!makers) return fail_session(self, makers.error());
  state.makers = *makers;
  for (const auto& maker : state.makers) state.maker_pointers.push_back(maker.get());
  if (resumed)
    begin_search(self, state.config.request.settings, std::move(history));
  else
    find_warm_starts(self, state.config.request.settings);
}

void admit(planner_pointer self, bool resumed, const agents::session_history& history) {
  planner_state& state = self->state;
  show(self, "admitting the problem");
  const memory::session& session = state.config.request.settings;
  self->request(state.config.fleet, caf::infinite, admit_atom::value, session.id, state.config.request.task, session.target, session.seed)
      .then(
          [self, resumed, history](const admission_result& admitted) {
            if (!admitted) return fail_session(self, admitted.error());
            after_admission(self, *admitted, resumed, history);
          },
          lost(self, "admitting the problem"));
}

void start_session(planner_pointer self) {
  planner_state& state = self->state;
  state.started_s = state.config.clock_s();
  session_request& request = state.config.request;
  if (!request.resume) return admit(self, false, {});
  self->request(state.config.librarian, caf::infinite, recall_atom::value, request.settings.problem, request.settings.target)
      .then(
          [self](const recall_result& recalled) {
            if (!recalled) {
              if (self->state.config.presenter)
                self->send(self->state.config.presenter, progress_atom::value, std::string("nothing to resume: a new session begins"));
              return admit(self, false, {});
            }
            const std::string text = self->state.config.request.settings.problem_blob;
            self->state.config.request.settings = recalled->session;
            self->state.config.request.settings.problem_blob = text;
            admit(self, true, recalled->history);
          },
          lost(self, "looking for the interrupted session"));
}

planner_actor::behavior_type planner(planner_pointer self, planner_config config) {
  guard(self, planner_state::name);
  self->state.config = std::move(config);
  return {
      [self](run_atom) {
        self->state.promise = self->make_response_promise<session_result>();
        start_session(self);
        return self->state.promise;
      },
      [self](stop_atom, const std::string& reason) {
        if (!self->state.core) {
          self->state.stop_before_start = reason;
          return;
        }
        self->state.core->stop(reason);
        drive(self);
      },
      [self](replace_atom, const synthesizer_actor& synthesizer) { self->state.config.synthesizer = synthesizer; },
      [self](tick_atom) {
        if (!self->state.core) return;
        self->state.core->stop("time");
        drive(self);
      },
  };
}

}  // namespace

planner_actor spawn_planner(caf::actor_system& system, planner_config config) {
  return system.spawn(planner, std::move(config));
}

}  // namespace kernsmith::actors
