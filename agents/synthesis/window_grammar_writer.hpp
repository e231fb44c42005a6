// What the forms of a window have in common as source: its heading, its operands, what becomes of its results, and when nothing falls
// outside.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agents/synthesis/contraction_grammar_emit.hpp"
#include "agents/synthesis/window_grammar_plan.hpp"

namespace kernsmith::agents::nest {

/// Refers to the plan and the group, which must outlive it.
class window_writer {
 protected:
  window_writer(const window_plan& plan, const fusion_group& group, std::string decisions);
  ~window_writer() = default;

  /// The group's namespace up to its operands and helpers; `along`: the loop variable along the lanes of the products; `constants`: lines.
  void begin(int along, const std::string& constants);
  /// finish(): from a vector of neighbouring results to what is stored.
  void emit_finish();
  [[nodiscard]] emitted_group end();

  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] const std::string& name(int variable) const { return plan_.p.variables[index(variable)].name; }
  [[nodiscard]] std::string extent(int variable) const { return plan_.p.variables[index(variable)].extent.text(ir_); }
  void add(std::string_view text, std::map<std::string, std::string> values = {});
  /// Text of trees in lanes along the plan's lane. `inside`: no lane falls outside of a padded tensor.
  [[nodiscard]] emission make_emission(bool inside) const;
  /// "[[maybe_unused]] int64_t n_, ... "
  [[nodiscard]] std::string outer_parameters() const;
  /// Do all of `width` neighbours from `at` on fall inside whatever the window's position? Each padded dimension along the lanes is
  /// bounded.
  [[nodiscard]] std::string inside_condition(const std::string& width) const;

  const window_plan& plan_;
  const tensor_ir& ir_;
  const fusion_group& group_;
  std::string decisions_;
  number_names names_;
  std::vector<std::string> variable_names_;
  std::set<std::string> preludes_;
  std::string text_;

 private:
  std::map<std::string, std::string> fills_;
  operand_members members_;
};

}  // namespace kernsmith::agents::nest
