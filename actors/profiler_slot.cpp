#include "actors/caf.hpp"
//
#include "actors/profiler_slot.hpp"

#include <chrono>

#include "agents/diagnosis/diagnose.hpp"
#include "agents/knowledge/library.hpp"

namespace kernsmith::actors {
namespace {

/// The evaluation that a profile starts from; a quick one is made where there is none, as for a baseline.
result<memory::evaluation> timed(const slot_config& slot, const std::string& session, const profile_job& job) {
  if (!job.measured.workloads.empty()) return job.measured;
  const auto opened = slot.admitted->get(session);
  if (!opened) return fail(fault::infrastructure, "no problem has been admitted for session " + session + " on this slot");
  const auto kernel = opened->build(job.source);
  if (!kernel) return tl::unexpected(kernel.error());
  auto quick = opened->evaluate(*kernel, harness::effort::quick);
  if (quick && (quick->outcome != "passed" || quick->workloads.empty()))
    return fail(fault::bad_request, "it could not be timed: " + quick->outcome + (quick->detail.empty() ? "" : ": " + quick->detail));
  return quick;
}

result<memory::profile> profile(const slot_config& slot, const std::string& session, const profile_job& job) {
  if (!slot.profile) return fail(fault::bad_request, "there is no profiler for " + job.target);
  const auto measured = timed(slot, session, job);
  if (!measured) return tl::unexpected(measured.error());
  auto made = slot.profile(*job.task, job.target, slot.cores, job.seed, job.source, *measured);
  if (!made) return made;
  made->problem = job.task->hash;
  made->target = job.target;
  made->diagnosis = agents::diagnose(*made);
  made->diagnosis.knowledge = agents::knowledge_for(made->diagnosis, job.target);
  return made;
}

}  // namespace

profiler_actor::behavior_type profiler_slot(profiler_actor::stateful_pointer<profiler_state> self, slot_config config) {
  guard(self, profiler_state::name);
  self->state.config = std::move(config);
  return {
      [self](profile_atom, const std::string& session, const profile_job& job) -> profile_result {
        const slot_config& slot = self->state.config;
        const slot_lease::hold turn(*slot.lease);
        const core_gate::hold alone(*slot.gate, true);
        const auto began = std::chrono::steady_clock::now();
        profile_answer answer{profile(slot, session, job), 0};
        answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        return answer;
      },
  };
}

}  // namespace kernsmith::actors
