// The planner's part in profiles: asks the fleet, stores the answer.
#include <optional>

#include "actors/planner_state.hpp"
#include "transport/diagnosis_text.hpp"

namespace kernsmith::actors {

void do_profile(planner_pointer self, const agents::profile_step& s) {
  planner_state& state = self->state;
  const session_request& request = state.config.request;
  if (s.trigger != "improvement") show(self, s.trigger == "winner" ? "profiling the winner" : "profiling the baseline");
  const profile_job job{request.task, request.settings.target, request.settings.seed, s.source, s.measured};
  const auto told = [self, s](const result<memory::profile>& made, double seconds) {
    if (self->state.answered) return;
    self->state.core->on_profiled(s, made, seconds);
    drive(self);
  };
  self->request(state.config.fleet, caf::infinite, profile_atom::value, request.settings.id, job)
      .then(
          [told](const profile_result& answered) {
            if (answered)
              told(answered->profile, answered->seconds);
            else
              told(tl::unexpected<error>(answered.error()), 0);
          },
          // A profiler that dies costs a diagnosis, never the session.
          [self, told](const caf::error& reason) {
            told(tl::unexpected<error>(lost_actor(self->home_system(), "the profiler was lost", reason)), 0);
          });
}

// The profile becomes a blob of its own; what it means stands in the record that it explains.
void do_annotate(planner_pointer self, const agents::annotate_step& s) {
  planner_state& state = self->state;
  auto batch = std::make_shared<memory::write_batch>();
  std::optional<memory::evaluation> evaluation = s.evaluation;
  memory::session session = s.session;
  memory::diagnosis diagnosis = evaluation ? evaluation->diagnosis : session.baselines.front().diagnosis;
  if (!s.profile.signals.empty()) {
    memory::profile profile = s.profile;
    profile.finished = state.config.now();
    const std::string blob = batch->put_blob(nlohmann::json(profile).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    (evaluation ? evaluation->profile_blob : session.baselines.front().profile_blob) = blob;
  }
  if (evaluation) batch->put(*evaluation);
  batch->put(session);
  const std::string& blob = evaluation ? evaluation->profile_blob : session.baselines.front().profile_blob;
  batch->emit("candidate.profiled", {{"session", session.id},
                                     {"candidate", evaluation ? nlohmann::json(evaluation->candidate) : nlohmann::json()},
                                     {"evaluation", evaluation ? nlohmann::json(evaluation->id) : nlohmann::json()},
                                     {"profile", blob.empty() ? nlohmann::json() : nlohmann::json(blob)},
                                     {"limited_by", transport::limit_text(diagnosis)},
                                     {"diagnosis", diagnosis}});
  self->request(state.config.librarian, caf::infinite, commit_atom::value, batch)
      .then(
          [self, evaluation, session, diagnosis](const commit_result& committed) {
            if (self->state.answered) return;
            if (!committed) return fail_session(self, committed.error());
            self->state.core->on_annotated(evaluation, session);
            if (evaluation) show_limit(self, *evaluation);
            drive(self);
          },
          lost(self, "storing a diagnosis"));
}

}  // namespace kernsmith::actors
