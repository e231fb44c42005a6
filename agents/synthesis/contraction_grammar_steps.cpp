// What stands before and after the one reduction of a fusion group: producers to inline, elementwise steps that follow. Contraction and
// window share it.
#include <algorithm>

#include "agents/synthesis/contraction_grammar_plan.hpp"
#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents::nest {
namespace {

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

bool in_group(const fusion_group& group, int statement) {
  return std::find(group.statements.begin(), group.statements.end(), statement) != group.statements.end();
}

bool elementwise(const statement& s) {
  return std::all_of(s.nodes.begin(), s.nodes.end(),
                     [](const expression& e) { return e.kind != expression_kind::reduce && e.kind != expression_kind::scan; });
}

/// Loop variable of each variable of `s`, found from its loads of tensors of the nest. Empty when they disagree or leave one out.
std::vector<int> rename_of(const program& p, const statement& s) {
  std::vector<int> rename(s.variables.size(), -1);
  for (const expression& e : s.nodes) {
    if (e.kind != expression_kind::load) continue;
    const auto found = p.inner.find(e.symbol);
    if (found == p.inner.end() || found->second.value < 0) continue;
    for (std::size_t d = 0; d < e.indices.size(); ++d) {
      const int index = sole_index(e.indices[d]);
      if (index < 0) return {};
      int& known = rename[at(index)];
      if (known >= 0 && known != found->second.variables[d]) return {};
      known = found->second.variables[d];
    }
  }
  for (const int index : s.target_indices)
    if (rename[at(index)] < 0) return {};
  return rename;
}

linear_form target_form(const program& p, const statement& s, const std::vector<int>& rename) {
  std::vector<index_expression> positions;
  for (const int index : s.target_indices) {
    index_expression position;
    position.terms.push_back(affine_term{1, {}, index});
    positions.push_back(std::move(position));
  }
  return p.locate(s.target, positions, rename).value_or(linear_form{});
}

}  // namespace

int sole_reduction(const tensor_ir& ir, const fusion_group& group) {
  int found = -1;
  for (const int id : group.statements) {
    const statement& s = ir.statements[at(id)];
    if (elementwise(s)) continue;
    if (found >= 0 || s.nodes[at(s.root)].kind != expression_kind::reduce) return -1;
    found = id;
  }
  return found;
}

bool plan_producers(const tensor_ir& ir, const fusion_group& group, int reduction, program& p) {
  for (const int id : group.statements) {
    if (id >= reduction) break;
    const statement& s = ir.statements[at(id)];
    if (!elementwise(s) || ir.tensors[at(s.target)].role != tensor_role::intermediate) return false;
    for (const int consumer : ir.consumers(s.target))
      if (!in_group(group, consumer)) return false;
    p.inner[s.target] = inner_tensor{-1, &s, {}};
  }
  return true;
}

bool plan_steps(const tensor_ir& ir, const fusion_group& group, int reduction, program& p, const std::vector<int>& variables,
                std::vector<step>& steps, std::vector<int>& stored) {
  for (const int id : group.statements) {
    if (id < reduction) continue;
    const statement& s = ir.statements[at(id)];
    const tensor_declaration& target = ir.tensors[at(s.target)];
    step next;
    next.statement = id;
    next.tensor = s.target;
    next.type = s.nodes[at(s.root)].type;
    std::vector<int> rename;
    if (id == reduction) {
      rename.assign(s.variables.size(), -1);
      for (std::size_t d = 0; d < variables.size(); ++d) rename[at(s.target_indices[d])] = variables[d];
    } else {
      rename = rename_of(p, s);
      if (rename.empty() || s.target_indices.size() != variables.size()) return false;
      const std::optional<int> root = p.import(s, s.root, rename);
      if (!root) return false;
      next.root = *root;
    }
    next.target = target_form(p, s, rename);
    const std::vector<int> consumers = ir.consumers(s.target);
    next.stored = target.role == tensor_role::output || consumers.empty() ||
                  std::any_of(consumers.begin(), consumers.end(), [&](int consumer) { return !in_group(group, consumer); });
    next.rounds = target.type_declared && target.role == tensor_role::intermediate;
    if (next.stored && target.role == tensor_role::intermediate) stored.push_back(s.target);

    inner_tensor inner;
    inner.value = static_cast<int>(steps.size());
    for (const int index : s.target_indices) inner.variables.push_back(rename[at(index)]);
    p.inner[s.target] = inner;
    steps.push_back(std::move(next));
  }
  return std::any_of(steps.begin(), steps.end(), [](const step& s) { return s.stored; });
}

}  // namespace kernsmith::agents::nest
