#include "agents/synthesis/window_grammar_plan.hpp"

#include <algorithm>

#include "agents/synthesis/contraction_grammar_emit.hpp"

namespace kernsmith::agents::nest {
namespace {

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

/// Loads below `root` that vary along `lane`.
void lane_loads(const program& p, int root, int lane, std::vector<int>& found) {
  const node& n = p.nodes[at(root)];
  if (n.kind == node_kind::load && !n.where.stride(lane).is_zero()) found.push_back(root);
  for (const int argument : n.arguments) lane_loads(p, argument, lane, found);
}

/// The last outer variable that some load along the lanes doesn't depend on: its neighbours share that load.
int block_variable(const window_plan& plan) {
  std::vector<int> loads;
  lane_loads(plan.p, plan.body, plan.lane, loads);
  for (std::size_t o = plan.outer.size(); o-- > 0;)
    for (const int load : loads)
      if (!plan.p.used(load).contains(plan.outer[o]) && plan.p.used(plan.body).contains(plan.outer[o])) return plan.outer[o];
  return -1;
}

bool supported(reduction r) {
  return r == reduction::sum || r == reduction::max || r == reduction::min || r == reduction::prod;
}

}  // namespace

std::optional<window_plan> plan_window(const tensor_ir& ir, const fusion_group& group) {
  const int id = sole_reduction(ir, group);
  if (id < 0 || ir.classes[at(id)] != op_class::window) return std::nullopt;
  const statement& s = ir.statements[at(id)];
  const expression& reduce = s.nodes[at(s.root)];
  if (!supported(reduce.reducer) || reduce.type != value_class::real || s.target_indices.empty()) return std::nullopt;

  window_plan plan;
  plan.p.ir = &ir;
  plan.p.allow_pad = true;
  plan.reducer = reduce.reducer;
  plan.bound = reduce.bound;
  std::vector<int> identity;
  for (const index_variable& variable : s.variables) {
    identity.push_back(static_cast<int>(plan.p.variables.size()));
    plan.p.variables.push_back(loop_variable{variable.name, polynomial::of(variable.extent)});
  }
  if (!plan_producers(ir, group, id, plan.p)) return std::nullopt;
  const std::optional<int> body = plan.p.import(s, reduce.arguments[0], identity);
  if (!body || !plan_steps(ir, group, id, plan.p, s.target_indices, plan.steps, plan.stored)) return std::nullopt;
  plan.body = *body;
  plan.lane = s.target_indices.back();
  plan.outer.assign(s.target_indices.begin(), s.target_indices.end() - 1);
  if (!vectorisable(plan.p, plan.body, plan.lane) || !steps_vectorisable(plan.p, plan.steps, plan.lane)) return std::nullopt;
  for (std::size_t n = 0; n < plan.p.nodes.size(); ++n) plan.wide |= plan.p.reads_f64(static_cast<int>(n));
  for (const step& st : plan.steps) plan.wide |= st.stored && ir.tensors[at(st.tensor)].type == dtype::f64;
  plan.block = block_variable(plan);
  return plan;
}

std::vector<decision> window_decisions(const window_plan& plan, const std::string& group, const machine_model& machine) {
  const bool many = machine.vector_registers >= 32;
  std::vector<decision> all;
  decision vectors;
  vectors.name = group + ".vectors";
  vectors.values = {1, 2, 3, 4};
  vectors.preferred = plan.block >= 0 ? 2 : 1;
  vectors.meaning = "neighbouring outputs computed together, in vectors";
  all.push_back(std::move(vectors));
  if (plan.block >= 0) {
    decision block;
    block.name = group + ".block";
    block.values = {1, 2, 4, 6, 8};
    block.preferred = many ? 4 : 2;
    block.meaning = "neighbours along " + plan.p.variables[at(plan.block)].name + " that share each load";
    all.push_back(std::move(block));
  }
  decision unroll;
  unroll.name = group + ".unroll_window";
  unroll.values = {0, 1};
  unroll.labels = {"no", "yes"};
  unroll.preferred = 1;
  unroll.weight = 0.5;
  unroll.meaning = "unroll the loops over the window where its size is fixed";
  all.push_back(std::move(unroll));
  return all;
}

window_schedule read_window_schedule(const std::string& group, const machine_model& machine, const assignment& chosen) {
  const auto value = [&](const char* name, std::int64_t otherwise) {
    const auto found = chosen.find(group + "." + name);
    return static_cast<int>(found == chosen.end() ? otherwise : found->second);
  };
  window_schedule s;
  s.block = value("block", 1);
  // A few registers are left for what is loaded.
  s.vectors = std::max(1, std::min(value("vectors", 2), (machine.vector_registers - 4) / s.block));
  s.unroll = value("unroll_window", 1) == 1;
  return s;
}

}  // namespace kernsmith::agents::nest
