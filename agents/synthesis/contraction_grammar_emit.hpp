// From a contraction plan and its schedule to source text.
#pragma once

#include "agents/synthesis/contraction_grammar_schedule.hpp"

namespace kernsmith::agents::nest {

[[nodiscard]] emitted_group emit_contraction(const contraction_plan& plan, const contraction_schedule& schedule, const fusion_group& group,
                                             const std::string& decisions);

/// The arithmetic an emitted nest is written in: fills for the lane helpers' texts.
struct number_names {
  std::string real, vec, lanes, load, store, to, from, set, lane_numbers;
};
[[nodiscard]] number_names names_of(bool wide);
/// What lane_helpers_text and pad_helpers_text ask for.
[[nodiscard]] std::map<std::string, std::string> lane_fills(const number_names& names);

/// Text of the steps after a reduction, one line each: values, roundings and stores. `sum` is the reduction's value as text; lanes along
/// `emit.lane` when emit.vector.
[[nodiscard]] std::string step_lines(emission& emit, const std::vector<step>& steps, const std::string& sum, const std::string& indent);
/// Can all steps be computed in lanes along `lane`?
[[nodiscard]] bool steps_vectorisable(const program& p, const std::vector<step>& steps, int lane);
/// Members of `struct operands`: the tensors and axes that the group uses, and "t.x = x" initialisers for the call.
struct operand_members {
  std::string declarations;
  std::string initialisers;
};
[[nodiscard]] operand_members members_of(const tensor_ir& ir, const fusion_group& group, const std::vector<step>& steps);

}  // namespace kernsmith::agents::nest
