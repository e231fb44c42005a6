// The window grammar for CUDA and HIP: which loads are kept in registers, and how many outputs a thread has.
#include "agents/synthesis/simt/window_simt.hpp"

#include <algorithm>

namespace kernsmith::agents::simt {
namespace {

using nest::node;
using nest::node_kind;
using nest::polynomial;

constexpr std::int64_t most_patch = 96;      // registers of a thread for patches and results
constexpr std::int64_t most_unrolled = 256;  // taps of a window that is unrolled

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

void collect_loads(const nest::program& p, int root, std::vector<int>& loads) {
  const node& n = p.nodes[at(root)];
  if (n.kind == node_kind::load && std::find(loads.begin(), loads.end(), root) == loads.end()) loads.push_back(root);
  for (const int argument : n.arguments) collect_loads(p, argument, loads);
}

/// The load's dimension that `variable` walks together with taps of constant extents; the variable alone where there are none. Nothing when
/// the dimension can't be kept.
std::optional<patch_side> side_of(const simt_window& w, const node& load, int variable) {
  const nest::program& p = w.plan.p;
  patch_side side;
  if (load.where.stride(variable).is_zero()) return side;
  side.variable = variable;
  const nest::guard* walked = nullptr;
  for (const nest::guard& window : load.windows) {
    if (!window.strides.contains(variable)) continue;
    if (walked != nullptr) return std::nullopt;
    walked = &window;
  }
  if (walked == nullptr) {
    side.step = load.where.stride(variable);
    for (const nest::guard& g : load.guards)
      if (g.strides.contains(variable)) return std::nullopt;
    return side;
  }
  side.position = *walked;
  side.factor = walked->strides.at(variable).as_constant().value_or(0);
  if (side.factor <= 0) return std::nullopt;
  for (const auto& [tap, stride] : walked->strides) {
    if (tap == variable) continue;
    const std::int64_t factor = stride.as_constant().value_or(0);
    const std::optional<std::int64_t> extent = p.variables[at(tap)].extent.as_constant();
    const bool bound = std::find(w.plan.bound.begin(), w.plan.bound.end(), tap) != w.plan.bound.end();
    if (!bound || factor <= 0 || !extent) return std::nullopt;
    side.taps[tap] = factor;
    side.reach += factor * (*extent - 1);
    if (side.step.is_zero()) {
      side.step = load.where.stride(tap);
      for (auto& [product, coefficient] : side.step.terms) {
        if (coefficient % factor != 0) return std::nullopt;
        coefficient /= factor;
      }
    }
    if (!(load.where.stride(tap) == side.step * polynomial::constant(factor))) return std::nullopt;
  }
  if (!(load.where.stride(variable) == side.step * polynomial::constant(side.factor))) return std::nullopt;
  return side;
}

/// Free variables but the lane that walk a dimension of the load together with others.
std::vector<int> walked_outer(const simt_window& w, const node& load) {
  std::vector<int> found;
  for (const int variable : w.plan.outer)
    for (const nest::guard& window : load.windows)
      if (window.strides.contains(variable)) found.push_back(variable);
  return found;
}

void choose_patches(simt_window& w, const std::vector<int>& loads) {
  for (const int id : loads) {
    const node& load = w.plan.p.nodes[at(id)];
    const std::optional<patch_side> across = side_of(w, load, w.plan.lane);
    const std::optional<patch_side> down = w.down < 0 ? patch_side{} : side_of(w, load, w.down);
    if (!across || !down || (across->taps.empty() && down->taps.empty())) continue;
    w.patches.push_back({id, *down, *across});
  }
  std::set<int> tapped;
  for (const window_patch& patch : w.patches)
    for (const patch_side* side : {&patch.down, &patch.across})
      for (const auto& [tap, factor] : side->taps) tapped.insert(tap);
  // A patch is read before the taps are walked: it may depend on them only through its sides.
  std::erase_if(w.patches, [&](const window_patch& patch) {
    const node& load = w.plan.p.nodes[at(patch.node)];
    return std::any_of(tapped.begin(), tapped.end(), [&](int tap) {
      return !load.where.stride(tap).is_zero() && !patch.down.taps.contains(tap) && !patch.across.taps.contains(tap);
    });
  });
  for (const int variable : w.plan.bound) {
    const bool kept = std::any_of(w.patches.begin(), w.patches.end(), [&](const window_patch& patch) {
      return patch.down.taps.contains(variable) || patch.across.taps.contains(variable);
    });
    (kept ? w.tapped : w.looped).push_back(variable);
  }
}

std::int64_t taps_of(const simt_window& w) {
  std::int64_t taps = 1;
  for (const int variable : w.tapped) taps *= w.plan.p.variables[at(variable)].extent.as_constant().value_or(1);
  return taps;
}

/// What the model takes for the fastest. Along the lanes neighbouring threads' accesses are whole anyway where the window walks them; else
/// a thread takes 16 bytes. Down, every output more saves reading what it shares with its neighbour.
window_choice preferred(const simt_window& w) {
  window_choice choice;
  const bool lane_walked = w.patches.empty() || std::any_of(w.patches.begin(), w.patches.end(),
                                                            [](const window_patch& patch) { return !patch.across.taps.empty(); });
  if (!lane_walked) {
    const node& load = w.plan.p.nodes[at(w.patches.front().node)];
    const std::size_t bytes = size_of(w.plan.p.ir->tensors[at(load.where.tensor)].type);
    if (load.where.stride(w.plan.lane) == polynomial::constant(1)) choice.across = bytes >= 4 ? 4 : 8;
  }
  choice.down = 4;
  while (choice.down > 1 && window_registers(w, choice) > most_patch) choice.down /= 2;
  while (choice.across > 1 && window_registers(w, choice) > most_patch) choice.across /= 2;
  return choice;
}

decision numeric(std::string name, std::vector<std::int64_t> values, std::int64_t wanted, std::string meaning, double weight) {
  decision d;
  d.name = std::move(name);
  d.preferred = static_cast<std::size_t>(std::find(values.begin(), values.end(), wanted) - values.begin());
  d.values = std::move(values);
  d.meaning = std::move(meaning);
  d.weight = weight;
  return d;
}

class window_grammar final : public simt_grammar {
 public:
  using simt_grammar::simt_grammar;
  std::string_view name() const override { return "window"; }

  bool accepts(const tensor_ir& ir, const fusion_group& group) const override { return plan_simt_window(ir, group).has_value(); }

  std::vector<decision> decide(const tensor_ir& ir, const fusion_group& group) const override {
    const simt_window w = *plan_simt_window(ir, group);
    const window_choice best = preferred(w);
    std::vector<decision> all;
    if (w.down >= 0)
      all.push_back(
          numeric(group.name + ".down", {1, 2, 4, 8}, best.down, "outputs of a thread along " + w.plan.p.variables[at(w.down)].name, 2));
    all.push_back(numeric(group.name + ".across", {1, 2, 4, 8}, best.across,
                          "outputs of a thread along " + w.plan.p.variables[at(w.plan.lane)].name, 2));
    all.push_back(numeric(group.name + ".threads", {64, 128, 256, 512}, best.threads, "threads of a block", 1));
    return all;
  }

  void tidy(const tensor_ir& ir, const fusion_group& group, assignment& chosen) const override {
    const simt_window w = *plan_simt_window(ir, group);
    window_choice choice = read(group, chosen);
    while (choice.down > 1 && window_registers(w, choice) > most_patch) choice.down /= 2;
    while (choice.across > 1 && window_registers(w, choice) > most_patch) choice.across /= 2;
    if (w.down >= 0) chosen[group.name + ".down"] = choice.down;
    chosen[group.name + ".across"] = choice.across;
  }

  emitted_group write(const tensor_ir& ir, const fusion_group& group, const assignment& chosen) const override {
    decision_space space;
    space.decisions = decide(ir, group);
    return emit_simt_window(*plan_simt_window(ir, group), read(group, chosen), group, describe(space, chosen));
  }

 private:
  static window_choice read(const fusion_group& group, const assignment& chosen) {
    window_choice choice;
    const auto down = chosen.find(group.name + ".down");
    choice.down = down == chosen.end() ? 1 : static_cast<int>(down->second);
    choice.across = static_cast<int>(chosen.at(group.name + ".across"));
    choice.threads = static_cast<int>(chosen.at(group.name + ".threads"));
    return choice;
  }
};

}  // namespace

std::optional<simt_window> plan_simt_window(const tensor_ir& ir, const fusion_group& group) {
  std::optional<nest::window_plan> plan = nest::plan_window(ir, group);
  if (!plan) return std::nullopt;
  simt_window w;
  w.plan = std::move(*plan);
  std::vector<int> loads;
  collect_loads(w.plan.p, w.plan.body, loads);
  for (const int id : loads)
    for (const int variable : walked_outer(w, w.plan.p.nodes[at(id)])) w.down = variable;  // the last: nearest to the lane
  choose_patches(w, loads);
  if (taps_of(w) > most_unrolled || window_registers(w, {1, 1, 256}) > most_patch) {
    w.patches.clear();
    w.tapped.clear();
    w.looped = w.plan.bound;
  }
  return w;
}

std::int64_t window_registers(const simt_window& w, const window_choice& choice) {
  std::int64_t registers = static_cast<std::int64_t>(choice.down) * choice.across;
  for (const window_patch& patch : w.patches)
    registers += (patch.down.variable < 0 ? 1 : patch.down.length(choice.down)) *
                 (patch.across.variable < 0 ? 1 : patch.across.length(choice.across));
  return registers * (w.plan.wide ? 2 : 1);
}

std::unique_ptr<group_grammar> make_window_grammar(const simt_model& model) {
  return std::make_unique<window_grammar>(model);
}

}  // namespace kernsmith::agents::simt
