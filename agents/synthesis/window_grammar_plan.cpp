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

namespace {

std::optional<channel_span> plan_span(const window_plan& plan, int values) {
  const node& load = plan.p.nodes[at(values)];
  if (load.kind != node_kind::load || plan.bound.empty()) return std::nullopt;
  const int innermost = plan.bound.back();
  channel_span span;
  int found = 0;
  for (const guard& g : load.guards) {
    if (g.strides.contains(plan.lane))
      span.along = g, ++found;
    else if (g.strides.contains(innermost))
      return std::nullopt;
  }
  if (found != 1) return std::nullopt;
  for (const int variable : plan.bound)
    if (variable != innermost && span.along.strides.contains(variable)) return std::nullopt;
  const auto step = span.along.strides.at(plan.lane).as_constant();
  const auto extent = plan.p.variables[at(innermost)].extent.as_constant();
  const auto window =
      span.along.strides.contains(innermost) ? span.along.strides.at(innermost).as_constant() : std::optional<std::int64_t>(0);
  if (!step || !extent || !window || *step < 1 || *window < 0) return std::nullopt;
  // Side by side: the load's own strides are those of the position.
  if (load.where.stride(plan.lane) != polynomial::constant(*step)) return std::nullopt;
  if (*window == 0 ? !load.where.stride(innermost).is_zero() : load.where.stride(innermost) != polynomial::constant(*window))
    return std::nullopt;
  span.step = *step, span.window_step = *window, span.window_extent = *extent;
  return span;
}

}  // namespace

std::optional<channel_plan> plan_channels(const window_plan& plan) {
  const node& body = plan.p.nodes[at(plan.body)];
  if (plan.reducer != reduction::sum || plan.wide || plan.block < 0 || body.kind != node_kind::call || body.op != operation::multiply)
    return std::nullopt;
  channel_plan channels;
  channels.weights = body.arguments[0], channels.values = body.arguments[1];
  if (!plan.p.used(channels.weights).contains(plan.block)) std::swap(channels.weights, channels.values);
  const std::set<int> weights = plan.p.used(channels.weights), values = plan.p.used(channels.values);
  if (!weights.contains(plan.block) || values.contains(plan.block) || weights.contains(plan.lane) || !values.contains(plan.lane))
    return std::nullopt;
  for (const int variable : plan.outer)
    if (variable != plan.block && weights.contains(variable)) channels.groups.push_back(variable);
  channels.span = plan_span(plan, channels.values);
  return channels;
}

namespace {

/// Registers that sums may take: beside them there are the weights of a step and one value.
int registers_for_sums(const machine_model& machine, int vectors) {
  return machine.vector_registers - vectors - 1;
}

/// Neighbours at the ends of a line at which the window falls outside.
std::int64_t edge_points(const window_plan& plan, const std::vector<std::int64_t>& axes) {
  const std::int64_t line = plan.p.variables[at(plan.lane)].extent.value(axes);
  std::int64_t left = 0, right = 0;
  for (const node& n : plan.p.nodes) {
    for (const guard& g : n.guards) {
      const auto along = g.strides.find(plan.lane);
      if (along == g.strides.end()) continue;
      const std::int64_t step = std::max<std::int64_t>(1, along->second.value(axes)), first = g.offset.value(axes);
      std::int64_t reach = first + step * (line - 1);
      for (const int variable : plan.bound)
        if (const auto found = g.strides.find(variable); found != g.strides.end())
          reach += std::max<std::int64_t>(0, found->second.value(axes)) * (plan.p.variables[at(variable)].extent.value(axes) - 1);
      left = std::max(left, (step - 1 - first) / step);
      right = std::max(right, (reach - g.extent.value(axes) + step) / step);
    }
  }
  return std::clamp<std::int64_t>(left + right, 0, line);
}

/// Time of a result in steps of the multipliers: what falls outside of the channels and of the line, and loads beside the products.
double channel_cost(std::int64_t channels, std::int64_t line, std::int64_t edges, int lanes, int vectors, int points) {
  const auto filled = [](std::int64_t extent, std::int64_t unit) { return static_cast<double>((extent + unit - 1) / unit * unit); };
  const double loads = 0.5 * (vectors + points) / (vectors * points);
  // Ends, and lines that are shorter than their points, are walked one by one, each waiting for its own sums.
  constexpr double alone = 4;
  const std::int64_t rest = line - edges;
  const double steps = rest < points ? alone * static_cast<double>(rest) : filled(rest, points) * (1 + loads);
  return filled(channels, static_cast<std::int64_t>(lanes) * vectors) * (steps + alone * static_cast<double>(edges));
}

}  // namespace

std::vector<decision> channel_decisions(const window_plan& plan, const std::string& group, const machine_model& machine) {
  const int lanes = machine.vector_bytes / 4;
  std::int64_t channels = 64, line = 64, edges = 0;
  if (!plan.p.ir->workloads.empty()) {
    const std::vector<std::int64_t>& axes = plan.p.ir->workloads.front().axes;
    channels = plan.p.variables[at(plan.block)].extent.value(axes);
    line = plan.p.variables[at(plan.lane)].extent.value(axes);
    if (const auto as_channels = plan_channels(plan); !as_channels || !as_channels->span) edges = edge_points(plan, axes);
  }
  decision vectors;
  vectors.name = group + ".channel_vectors";
  vectors.values = {1, 2, 3, 4};
  vectors.meaning = "vectors of " + plan.p.variables[at(plan.block)].name + " computed together";
  decision points;
  points.name = group + ".points";
  points.meaning = "neighbours along " + plan.p.variables[at(plan.lane)].name + " computed together";
  for (const std::int64_t count : {2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14})
    if (count <= lanes) points.values.push_back(count);
  double least = 0;
  for (const std::int64_t v : vectors.values) {
    for (const std::int64_t p : points.values) {
      if (v * p > registers_for_sums(machine, static_cast<int>(v))) continue;
      const double cost = channel_cost(channels, line, edges, lanes, static_cast<int>(v), static_cast<int>(p));
      if (least > 0 && cost >= least) continue;
      least = cost, vectors.preferred = 0, points.preferred = 0;
      while (vectors.values[vectors.preferred] != v) ++vectors.preferred;
      while (points.values[points.preferred] != p) ++points.preferred;
    }
  }
  return {vectors, points};
}

channel_schedule read_channel_schedule(const std::string& group, const machine_model& machine, const assignment& chosen) {
  const auto value = [&](const char* name, std::int64_t otherwise) {
    const auto found = chosen.find(group + "." + name);
    return static_cast<int>(found == chosen.end() ? otherwise : found->second);
  };
  channel_schedule s;
  s.points = value("points", 6);
  s.vectors = value("channel_vectors", 2);
  while (s.vectors > 1 && s.vectors * s.points > registers_for_sums(machine, s.vectors)) --s.vectors;
  return s;
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
