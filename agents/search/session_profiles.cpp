// The profiles within a session's course: what is asked for when, and where the answers go.
#include <cassert>

#include "agents/search/session_core.hpp"

namespace kernsmith::agents {

session_core::work* session_core::best_work() {
  work* best = nullptr;
  for (auto& [id, w] : moves_) {
    if (w.at == phase::done && w.evaluation.outcome == "passed" && w.evaluation.duplicate_of.empty() &&
        (best == nullptr || w.evaluation.speedup > best->evaluation.speedup))
      best = &w;
  }
  return best;
}

session_core::work* session_core::final_winner() {
  work* winner = nullptr;
  for (auto& [id, w] : finals_) {
    if (w.evaluation.outcome != "passed" || w.evaluation.speedup <= (winner == nullptr ? 0 : winner->evaluation.speedup)) continue;
    winner = &w;
  }
  return winner;
}

void session_core::ask_profile(profile_step asked, std::vector<step>& steps) {
  profiling_ = true;
  steps.push_back(std::move(asked));
}

// While the search goes on: the best so far once it has stood for a while, then the baseline, so that both can be compared.
void session_core::poll_profiles(std::vector<step>& steps) {
  if (profiling_ || !stop_reason_.empty()) return;
  work* best = best_work();
  if (best == nullptr || !profiles_.improvement_due(counted_ - best_since_, elapsed_s_)) return;
  if (!profiled_or_tried(best->evaluation.diagnosis, best->evaluation.profile_blob))
    return ask_profile({"improvement", best->candidate.id, best->source, best->evaluation}, steps);
  if (baseline_source_.empty() || session_.baselines.empty()) return;
  if (const auto& b = session_.baselines.front(); !profiled_or_tried(b.diagnosis, b.profile_blob))
    ask_profile({"baseline", "", baseline_source_, {}}, steps);
}

// The winner always, by what the search found out about it when it did; then the baseline if there is time. True: the end has to wait.
bool session_core::profiles_before_end(std::vector<step>& steps) {
  if (profiling_) return true;
  work* winner = final_winner();
  if (profiles_.mode() == profile_mode::off || winner == nullptr) return false;
  if (!profiled_or_tried(winner->evaluation.diagnosis, winner->evaluation.profile_blob)) {
    const memory::evaluation& searched = moves_.at(winner->what.id).evaluation;
    if (!profiled_or_tried(searched.diagnosis, searched.profile_blob)) {
      ask_profile({"winner", winner->candidate.id, winner->source, winner->evaluation}, steps);
      return true;
    }
    memory::evaluation told = winner->evaluation;
    told.diagnosis = with_profile(told.diagnosis, searched.diagnosis);
    told.profile_blob = searched.profile_blob;
    profiling_ = true;
    steps.push_back(annotate_step{{}, std::move(told), session_});
    return true;
  }
  if (profiles_.mode() != profile_mode::best || baseline_source_.empty() || session_.baselines.empty()) return false;
  const auto& b = session_.baselines.front();
  if (profiled_or_tried(b.diagnosis, b.profile_blob) || !profiles_.affords(elapsed_s_)) return false;
  ask_profile({"baseline", "", baseline_source_, {}}, steps);
  return true;
}

void session_core::on_profiled(const profile_step& asked, const result<memory::profile>& profile, double seconds) {
  assert(profiling_);
  if (!profile && profile.error().kind == fault::interrupted) {
    profiling_ = false;
    return stop("interrupted");
  }
  profiles_.spent(seconds);
  session_.profile_s = profiles_.spent_s();
  annotate_step told;
  if (profile) {
    told.profile = *profile;
    told.profile.trigger = asked.trigger;
    told.profile.wall_s = seconds;
    told.profile.candidate = asked.candidate;
  }
  if (asked.candidate.empty()) {
    session_.baselines.front().diagnosis = profile ? profile->diagnosis : with_failure({}, profile.error());
  } else {
    told.evaluation = asked.measured;
    memory::diagnosis& d = told.evaluation->diagnosis;
    d = profile ? with_profile(d, profile->diagnosis) : with_failure(std::move(d), profile.error());
  }
  told.session = session_;
  queue_.push_back(std::move(told));
}

void session_core::on_annotated(const std::optional<memory::evaluation>& evaluation, const memory::session& session) {
  assert(profiling_);
  profiling_ = false;
  if (!evaluation) {
    session_.baselines = session.baselines;
    return;
  }
  for (auto* all : {&moves_, &finals_})
    for (auto& [id, w] : *all)
      if (w.evaluation.id == evaluation->id) w.evaluation = *evaluation;
}

}  // namespace kernsmith::agents
