#include "agents/synthesis/window_grammar_writer.hpp"

#include <fmt/format.h>

#include "agents/synthesis/contraction_grammar_templates.hpp"

namespace kernsmith::agents::nest {

window_writer::window_writer(const window_plan& plan, const fusion_group& group, std::string decisions)
    : plan_(plan),
      ir_(*plan.p.ir),
      group_(group),
      decisions_(std::move(decisions)),
      names_(names_of(plan.wide)),
      fills_(lane_fills(names_)),
      members_(members_of(ir_, group, plan.steps)) {
  for (const loop_variable& variable : plan.p.variables) variable_names_.push_back(variable.name + "_");
}

void window_writer::begin(int along, const std::string& constants) {
  text_ = "// ---- " + group_.name + ": window ----\n";
  for (const int id : group_.statements) text_ += "//   " + ir_.statements[index(id)].text + "\n";
  text_ += fmt::format("// {} along the lanes.\n// Decisions: {}\nnamespace {}_window {{\n\n", name(along), decisions_, group_.name);
  text_ += fmt::format("using real = {};\nusing vec = {};\nusing lane_numbers = {};\nconstexpr int LANES = {};\n", names_.real, names_.vec,
                       names_.lane_numbers, names_.lanes);
  text_ += constants + "\nstruct operands {\n" + members_.declarations + "\n};\n";
  add(range_text);
  add(lane_helpers_text);
  add(pad_helpers_text);
}

emitted_group window_writer::end() {
  emitted_group out;
  const std::string space = group_.name + "_window";
  text_ += "\n}  // namespace " + space;
  out.functions = std::move(text_);
  out.call = fmt::format("{0}::run({0}::operands{{{1}}}, ctx->threads);", space, members_.initialisers);
  preludes_.insert({"types", plan_.wide ? "simd64" : "simd"});
  out.preludes = std::move(preludes_);
  out.stored = plan_.stored;
  return out;
}

void window_writer::add(std::string_view text, std::map<std::string, std::string> values) {
  values.insert(fills_.begin(), fills_.end());
  text_ += fill(text, values);
}

emission window_writer::make_emission(bool inside) const {
  emission e;
  e.p = &plan_.p;
  e.wide = plan_.wide;
  e.vector = true;
  e.lane = plan_.lane;
  e.lanes_inside = inside;
  e.variable_names = variable_names_;
  return e;
}

std::string window_writer::outer_parameters() const {
  std::string text;
  for (const int variable : plan_.outer) text += fmt::format("[[maybe_unused]] int64_t {}_, ", name(variable));
  return text;
}

void window_writer::emit_finish() {
  emission e = make_emission(true);
  const std::string lines = step_lines(e, plan_.steps, "sum", "  ");
  preludes_.merge(e.preludes);
  text_ += fmt::format(
      "\n// From neighbouring results of the window to what is stored.\n[[gnu::always_inline]] static inline void finish(const operands& "
      "t, "
      "{}int64_t {}_, vec sum, [[maybe_unused]] int lanes) {{\n{}\n}}\n",
      outer_parameters(), name(plan_.lane), lines);
}

std::string window_writer::inside_condition(const std::string& width) const {
  emission e = make_emission(true);
  e.variable_names[index(plan_.lane)] = "at";
  std::string all;
  for (const node& n : plan_.p.nodes) {
    for (const guard& g : n.guards) {
      const auto along = g.strides.find(plan_.lane);
      if (along == g.strides.end()) continue;
      guard fixed = g;
      std::string low, high = fmt::format(" + {} * ({} - 1)", along->second.text(ir_), width);
      if (const auto step = along->second.as_constant(); !step || *step < 0) return "false";
      for (const int variable : plan_.bound) {
        const auto found = fixed.strides.find(variable);
        if (found == fixed.strides.end()) continue;
        const std::optional<std::int64_t> step = found->second.as_constant();
        if (!step) return "false";
        (*step > 0 ? high : low) += fmt::format(" + {} * ({} - 1)", *step, extent(variable));
        fixed.strides.erase(found);
      }
      const std::string position = e.position(fixed);
      const std::string condition = fmt::format("{}{} >= 0 && {}{} < {}", position, low, position, high, g.extent.text(ir_));
      if (all.find(condition) == std::string::npos) all += (all.empty() ? "" : " && ") + condition;
    }
  }
  return all.empty() ? "true" : all;
}

}  // namespace kernsmith::agents::nest
