// The contraction grammar: see contraction_grammar_plan.hpp for what it reads out of a group, contraction_grammar_emit.hpp for what it
// writes.
#include "agents/synthesis/contraction_grammar_emit.hpp"

namespace kernsmith::agents {
namespace {

class contraction_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "contraction"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override { return nest::plan_contraction(ir, group).has_value(); }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model& machine) const override {
    return nest::contraction_decisions(*nest::plan_contraction(ir, group), group.name, machine);
  }

  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, assignment& chosen) const override {
    nest::normalise_contraction(*nest::plan_contraction(ir, group), group.name, machine, chosen);
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model& machine,
                     const assignment& chosen) const override {
    const nest::contraction_plan plan = *nest::plan_contraction(ir, group);
    decision_space space;
    space.decisions = nest::contraction_decisions(plan, group.name, machine);
    return nest::emit_contraction(plan, nest::read_schedule(group.name, chosen), group, describe(space, chosen));
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_contraction_grammar() {
  return std::make_unique<contraction_grammar>();
}

}  // namespace kernsmith::agents
