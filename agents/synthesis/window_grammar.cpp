// The window grammar: convolutions and pooling, as direct loops or, for convolutions over many channels, as an implicit matrix product.
#include <algorithm>

#include "agents/synthesis/contraction_grammar_emit.hpp"
#include "agents/synthesis/window_grammar_plan.hpp"

namespace kernsmith::agents {
namespace {

constexpr std::int64_t few_output_channels = 12, short_depth = 24;  // below them packing costs more than it saves

class window_grammar final : public group_grammar {
 public:
  std::string_view name() const override { return "window"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override { return nest::plan_window(ir, group).has_value(); }

  std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group, const machine_model& machine) const override {
    std::vector<decision> all = nest::window_decisions(*nest::plan_window(ir, group), group.name, machine);
    const std::optional<nest::contraction_plan> product = matrix_plan(ir, group);
    if (!product) return all;
    decision form;
    form.name = group.name + ".form";
    form.values = {0, 1};
    form.labels = {"direct", "matrix"};
    form.preferred = worth_packing(ir, *product) ? 1 : 0;
    form.weight = 2;
    form.meaning = "direct loops over the window, or a matrix product over packed windows";
    all.insert(all.begin(), std::move(form));
    std::vector<decision> more = nest::contraction_decisions(*product, group.name, machine);
    std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
  }

  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, assignment& chosen) const override {
    const std::optional<nest::contraction_plan> product = matrix_plan(ir, group);
    const bool matrix = is_matrix(group, chosen);
    const auto reset = [&](const std::vector<decision>& decisions) {
      for (const decision& d : decisions) chosen[d.name] = d.values[d.preferred];
    };
    if (matrix) {
      reset(nest::window_decisions(*nest::plan_window(ir, group), group.name, machine));
      nest::normalise_contraction(*product, group.name, machine, chosen);
      return;
    }
    if (product) reset(nest::contraction_decisions(*product, group.name, machine));
    const nest::window_schedule s = nest::read_window_schedule(group.name, machine, chosen);
    chosen[group.name + ".vectors"] = s.vectors;
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model& machine,
                     const assignment& chosen) const override {
    decision_space own;
    if (is_matrix(group, chosen)) {
      const nest::contraction_plan plan = *matrix_plan(ir, group);
      own.decisions = nest::contraction_decisions(plan, group.name, machine);
      return nest::emit_contraction(plan, nest::read_schedule(group.name, chosen), group, describe(own, chosen));
    }
    const nest::window_plan plan = *nest::plan_window(ir, group);
    own.decisions = nest::window_decisions(plan, group.name, machine);
    return nest::emit_window(plan, nest::read_window_schedule(group.name, machine, chosen), group, describe(own, chosen));
  }

 private:
  static std::optional<nest::contraction_plan> matrix_plan(const tensor_ir& ir, const fusion_group& group) {
    std::optional<nest::contraction_plan> plan = nest::plan_contraction(ir, group, true);
    if (plan && (plan->row < 0 || plan->sums == nest::sum_kind::i32)) plan.reset();
    return plan;
  }

  static bool is_matrix(const fusion_group& group, const assignment& chosen) {
    const auto found = chosen.find(group.name + ".form");
    return found != chosen.end() && found->second == 1;
  }

  static bool worth_packing(const tensor_ir& ir, const nest::contraction_plan& plan) {
    if (ir.workloads.empty()) return true;
    const std::vector<std::int64_t>& axes = ir.workloads.front().axes;
    return plan.extent(plan.row).value(axes) >= few_output_channels && plan.depth_extent().value(axes) >= short_depth;
  }
};

}  // namespace

std::unique_ptr<group_grammar> make_window_grammar() {
  return std::make_unique<window_grammar>();
}

}  // namespace kernsmith::agents
