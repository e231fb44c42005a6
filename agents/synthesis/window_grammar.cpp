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
    const forms possible(ir, group);
    if (!possible.product && !possible.channels) return all;
    decision form;
    form.name = group.name + ".form";
    form.weight = 2;
    form.meaning = "direct loops over the window, a matrix product over packed windows, or lanes along the channels of the result";
    const auto add = [&](std::int64_t value, const char* label, bool preferred) {
      form.values.push_back(value);
      form.labels.emplace_back(label);
      if (preferred) form.preferred = form.values.size() - 1;
    };
    add(direct, "direct", true);
    if (possible.product) add(matrix, "matrix", worth_packing(ir, *possible.product));
    if (possible.channels) add(channels, "channels", worth_lanes(ir, possible.window, machine));
    all.insert(all.begin(), std::move(form));
    std::vector<decision> more;
    if (possible.product) more = nest::contraction_decisions(*possible.product, group.name, machine);
    if (possible.channels)
      for (decision& d : nest::channel_decisions(possible.window, group.name, machine)) more.push_back(std::move(d));
    std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
  }

  void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, assignment& chosen) const override {
    const forms possible(ir, group);
    const form_kind form = chosen_form(group, chosen);
    const auto reset = [&](const std::vector<decision>& decisions) {
      for (const decision& d : decisions) chosen[d.name] = d.values[d.preferred];
    };
    if (form != direct) reset(nest::window_decisions(possible.window, group.name, machine));
    if (form != matrix && possible.product) reset(nest::contraction_decisions(*possible.product, group.name, machine));
    if (form != channels && possible.channels) reset(nest::channel_decisions(possible.window, group.name, machine));
    if (form == matrix) {
      nest::normalise_contraction(*possible.product, group.name, machine, chosen);
    } else if (form == channels) {
      chosen[group.name + ".channel_vectors"] = nest::read_channel_schedule(group.name, machine, chosen).vectors;
    } else {
      chosen[group.name + ".vectors"] = nest::read_window_schedule(group.name, machine, chosen).vectors;
    }
  }

  emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model& machine,
                     const assignment& chosen) const override {
    const forms possible(ir, group);
    decision_space own;
    switch (chosen_form(group, chosen)) {
      case matrix:
        own.decisions = nest::contraction_decisions(*possible.product, group.name, machine);
        return nest::emit_contraction(*possible.product, nest::read_schedule(group.name, chosen), group, describe(own, chosen));
      case channels:
        own.decisions = nest::channel_decisions(possible.window, group.name, machine);
        return nest::emit_channels(possible.window, *possible.channels, nest::read_channel_schedule(group.name, machine, chosen), group,
                                   describe(own, chosen));
      case direct:
        break;
    }
    own.decisions = nest::window_decisions(possible.window, group.name, machine);
    return nest::emit_window(possible.window, nest::read_window_schedule(group.name, machine, chosen), group, describe(own, chosen));
  }

 private:
  enum form_kind : std::uint8_t { direct, matrix, channels };

  struct forms {
    nest::window_plan window;
    std::optional<nest::contraction_plan> product;
    std::optional<nest::channel_plan> channels;

    forms(const tensor_ir& ir, const fusion_group& group)
        : window(*nest::plan_window(ir, group)), product(matrix_plan(ir, group)), channels(nest::plan_channels(window)) {}
  };

  static std::optional<nest::contraction_plan> matrix_plan(const tensor_ir& ir, const fusion_group& group) {
    std::optional<nest::contraction_plan> plan = nest::plan_contraction(ir, group, true);
    if (plan && (plan->row < 0 || plan->sums == nest::sum_kind::i32)) plan.reset();
    return plan;
  }

  static form_kind chosen_form(const fusion_group& group, const assignment& chosen) {
    const auto found = chosen.find(group.name + ".form");
    return found == chosen.end() ? direct : static_cast<form_kind>(found->second);
  }

  /// Half of the lanes hold something, and a line is long enough for some of its neighbours to share the weights.
  static bool worth_lanes(const tensor_ir& ir, const nest::window_plan& plan, const machine_model& machine) {
    if (ir.workloads.empty()) return true;
    const std::vector<std::int64_t>& axes = ir.workloads.front().axes;
    const auto extent = [&](int variable) { return plan.p.variables[static_cast<std::size_t>(variable)].extent.value(axes); };
    return 2 * extent(plan.block) > machine.vector_bytes / 4 && extent(plan.lane) >= 4;
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
