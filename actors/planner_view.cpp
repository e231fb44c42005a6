// What a planner tells the presenter.
#include "actors/planner_state.hpp"
#include "transport/diagnosis_text.hpp"

namespace kernsmith::actors {

double elapsed_s(planner_pointer self) {
  const planner_state& state = self->state;
  return state.config.request.settings.wall_s + state.config.clock_s() - state.started_s;
}

namespace {

progress_report progress_of(planner_pointer self, const std::string& phase) {
  planner_state& state = self->state;
  progress_report report;
  const memory::session& session = state.core ? state.core->session() : state.config.request.settings;
  report.session = session.id;
  report.problem = session.problem_name;
  report.target = session.target;
  report.budget = session.budget;
  if (!session.baselines.empty()) report.unit = session.baselines.front().unit;
  report.phase = phase;
  if (state.core) {
    report.evaluations = state.core->evaluations();
    report.best_speedup = state.core->best_speedup();
    if (const memory::candidate* best = state.core->best_so_far()) report.best_decisions = best->decisions_text;
  }
  return report;
}

}  // namespace

void show(planner_pointer self, const std::string& phase, const memory::evaluation* last) {
  planner_state& state = self->state;
  state.phase = phase;
  if (!state.config.presenter) return;
  progress_report report = progress_of(self, phase);
  if (last) {
    report.last_candidate = last->candidate;
    report.last_outcome = last->duplicate_of.empty() ? last->outcome : "duplicate";
    report.last_detail = last->detail;
    report.last_speedup = last->speedup;
    report.last_is_final = last->effort == "final";
    if (last->outcome == "passed" && last->speedup >= report.best_speedup) {
      report.bottleneck = transport::limit_text(last->diagnosis);
    }
  }
  report.finished = phase == "finished";
  if (report.finished && state.core && state.core->session().best_speedup > 0) {
    // The search's own figure was the luckiest of many; the final one counts.
    const memory::session& session = state.core->session();
    const memory::candidate* best = state.core->best_so_far();
    if (best == nullptr || best->id != session.best) report.best_decisions.clear();
    report.best_speedup = session.best_speedup;
  }
  self->send(state.config.presenter, progress_atom::value, report);
}

void show_limit(planner_pointer self, const memory::evaluation& explained) {
  planner_state& state = self->state;
  if (!state.config.presenter) return;
  progress_report report = progress_of(self, state.phase);
  report.bottleneck = transport::limit_text(explained.diagnosis);
  report.profiled = explained.candidate;
  self->send(state.config.presenter, progress_atom::value, report);
}

}  // namespace kernsmith::actors
