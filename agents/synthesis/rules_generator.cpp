#include "agents/synthesis/rules_generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace kernsmith::agents {
namespace {

class rules final : public rules_generator {
 public:
  rules(std::string problem_name, tensor_ir ir, const machine_model& machine, grammar_list grammars, source_assembler assemble)
      : problem_name_(std::move(problem_name)),
        machine_(machine),
        assemble_(std::move(assemble)),
        grammars_(std::move(grammars)),
        groups_(plan_groups(std::move(ir), grammars_)) {
    space_.name = "rules";
    for (const planned_run& run : groups_.runs) {
      if (!run.fuse_decision.empty()) space_.decisions.push_back({run.fuse_decision, {0, 1}, {"no", "yes"}, 1, 1.0, run.fuse_meaning});
      for (const auto& way : run.ways) {
        for (const planned_group& planned : way) {
          std::vector<decision> more = planned.grammar->decisions(groups_.ir, planned.group, machine_);
          std::move(more.begin(), more.end(), std::back_inserter(space_.decisions));
        }
      }
    }
  }

  const decision_space& space() const override { return space_; }
  const grouping& groups() const override { return groups_; }

  assignment normalise(const assignment& wanted) const override {
    assignment chosen = fit(space_, wanted);
    for (const planned_run& run : groups_.runs) {
      const std::size_t way = chosen_way(run, chosen);
      for (std::size_t other = 0; other < run.ways.size(); ++other) {
        for (const planned_group& planned : run.ways[other]) {
          if (other == way)
            planned.grammar->normalise(groups_.ir, planned.group, machine_, chosen);
          else
            reset(planned.group.name, chosen);
        }
      }
    }
    return chosen;
  }

  result<proposal> generate(const assignment& wanted) const override {
    proposal made;
    made.decisions = normalise(wanted);
    std::vector<assembled_group> assembled;
    for (const planned_run& run : groups_.runs)
      for (const planned_group& planned : run.ways[chosen_way(run, made.decisions)])
        assembled.push_back(emit(run, planned, made.decisions));
    made.source = assemble_(problem_name_, groups_.ir, assembled);
    made.notes = groups_.notes;
    for (const assembled_group& group : assembled) {
      if (!made.rationale.empty()) made.rationale += ' ';
      made.rationale += group.summary + (group.decisions.empty() ? "" : " [" + group.decisions + "]") + '.';
    }
    return made;
  }

 private:
  static std::size_t chosen_way(const planned_run& run, const assignment& chosen) {
    return !run.fuse_decision.empty() && chosen.at(run.fuse_decision) == 0 ? 1 : 0;
  }

  /// Decisions of a group that isn't built go back to their preferred values.
  void reset(const std::string& group_name, assignment& chosen) const {
    for (const decision& d : space_.decisions)
      if (belongs_to(d, group_name)) chosen[d.name] = d.values[d.preferred];
  }

  static bool belongs_to(const decision& d, const std::string& group_name) {
    return d.name.starts_with(group_name + ".") && d.name != group_name + ".fuse";
  }

  assembled_group emit(const planned_run& run, const planned_group& planned, const assignment& chosen) const {
    assembled_group assembled;
    std::string targets;
    for (const int id : planned.group.statements) {
      const int target = groups_.ir.statements[static_cast<std::size_t>(id)].target;
      targets += (targets.empty() ? "" : ", ") + groups_.ir.tensors[static_cast<std::size_t>(target)].name;
    }
    assembled.summary = fmt::format("{}: one {} loop nest computes {}", planned.group.name, planned.grammar->name(), targets);
    decision_space own;
    for (const decision& d : space_.decisions)
      if (belongs_to(d, planned.group.name) || d.name == run.fuse_decision) own.decisions.push_back(d);
    assembled.decisions = describe(own, chosen);
    assembled.code = planned.grammar->emit(groups_.ir, planned.group, machine_, chosen);
    return assembled;
  }

  std::string problem_name_;
  machine_model machine_;
  source_assembler assemble_;
  grammar_list grammars_;
  grouping groups_;
  decision_space space_;
};

}  // namespace

result<std::unique_ptr<rules_generator>> make_rules_generator(const problem& p, const machine_model& machine, grammar_list grammars) {
  result<tensor_ir> ir = lower(p);
  if (!ir) return tl::unexpected(ir.error());
  const auto assemble = [machine](const std::string& name, const tensor_ir& lowered, const std::vector<assembled_group>& groups) {
    return assemble_source(name, machine, lowered, groups);
  };
  return std::make_unique<rules>(p.name, std::move(*ir), machine, std::move(grammars), assemble);
}

result<std::unique_ptr<rules_generator>> make_rules_generator(const problem& p, grammar_list grammars, source_assembler assemble) {
  result<tensor_ir> ir = lower(p);
  if (!ir) return tl::unexpected(ir.error());
  return std::make_unique<rules>(p.name, std::move(*ir), machine_model{}, std::move(grammars), std::move(assemble));
}

}  // namespace kernsmith::agents
