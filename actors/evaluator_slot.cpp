#include "actors/caf.hpp"
//
#include "actors/evaluator_slot.hpp"

namespace kernsmith::actors {

void admitted_problems::put(const std::string& session, std::shared_ptr<harness::evaluator> opened) {
  const std::lock_guard lock(mutex_);
  open_[session] = std::move(opened);
}

std::shared_ptr<harness::evaluator> admitted_problems::get(const std::string& session) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(session);
  return found == open_.end() ? nullptr : found->second;
}

void admitted_problems::drop(const std::string& session) {
  const std::lock_guard lock(mutex_);
  open_.erase(session);
}

namespace {

tl::unexpected<error> not_admitted(const std::string& session) {
  return fail(fault::infrastructure, "no problem has been admitted for session " + session + " on this slot");
}

}  // namespace

evaluator_actor::behavior_type evaluator_slot(evaluator_actor::stateful_pointer<evaluator_state> self, slot_config config) {
  guard(self, evaluator_state::name);
  self->state.config = std::move(config);
  return {
      [self](admit_atom, const std::string& session, const problem_ptr& task, const std::string& target,
             std::uint64_t seed) -> admission_result {
        const slot_config& slot = self->state.config;
        const slot_lease::hold turn(*slot.lease);
        const core_gate::hold alone(*slot.gate, true);
        auto opened = slot.open(*task, target, slot.cores, seed);
        if (!opened) return tl::unexpected(opened.error());
        const std::shared_ptr<harness::evaluator> shared = std::move(*opened);
        slot.admitted->put(session, shared);
        return admission{shared->machine(), shared->baselines(), shared->device()};
      },
      [self](evaluate_atom, const std::string& session, const harness::built_kernel& kernel, harness::effort how) -> measured_result {
        const slot_config& slot = self->state.config;
        const auto opened = slot.admitted->get(session);
        if (!opened) return not_admitted(session);
        const slot_lease::hold turn(*slot.lease);
        const core_gate::hold alone(*slot.gate, true);
        auto evaluation = opened->evaluate(kernel, how);
        if (!evaluation) return tl::unexpected(evaluation.error());
        return measured{std::move(*evaluation), how == harness::effort::final ? opened->samples_json() : std::string(), opened->spent()};
      },
      [self](control_atom, const std::string& session) -> control_answer {
        const slot_config& slot = self->state.config;
        const auto opened = slot.admitted->get(session);
        if (!opened) return not_admitted(session);
        const slot_lease::hold turn(*slot.lease);
        const core_gate::hold alone(*slot.gate, true);
        return opened->control();
      },
      [self](release_atom, const std::string& session) { self->state.config.admitted->drop(session); },
  };
}

builder_actor::behavior_type builder_slot(builder_actor::stateful_pointer<builder_state> self, slot_config config) {
  guard(self, builder_state::name);
  self->state.config = std::move(config);
  return {
      [self](build_atom, const std::string& session, const std::string& source) -> build_result {
        const slot_config& slot = self->state.config;
        const auto opened = slot.admitted->get(session);
        if (!opened) return not_admitted(session);
        const core_gate::hold beside(*slot.gate, false);
        return opened->build(source);
      },
  };
}

}  // namespace kernsmith::actors
