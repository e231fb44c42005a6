// Matrix products whose rows, columns or depth are several indices (convolutions): which of them lie contiguously, which an operand only
// has together, and what may be merged after the sum.
#include <algorithm>
#include <set>

#include "agents/synthesis/simt/gemm_plan.hpp"

namespace kernsmith::agents::simt {
namespace {

using nest::linear_form;
using nest::node;
using nest::node_kind;
using nest::polynomial;

/// Padding of the innermost depth to 8 may make it longer by this before more indices are packed with it.
constexpr double most_padding = 1.25;

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

/// Axes of the heaviest workload.
std::vector<std::int64_t> typical_axes(const tensor_ir& ir) {
  std::vector<std::int64_t> axes;
  for (const axis& a : ir.axes) axes.push_back(a.extent);
  const auto heaviest =
      std::max_element(ir.workloads.begin(), ir.workloads.end(), [](const workload& a, const workload& b) { return a.weight < b.weight; });
  return heaviest == ir.workloads.end() ? axes : heaviest->axes;
}

void collect(const nest::program& p, int root, std::set<int>& nodes) {
  nodes.insert(root);
  for (const int argument : p.nodes[at(root)].arguments) collect(p, argument, nodes);
}

/// The step from one value of `variable` to the next as a whole number, or 0.
std::int64_t factor_of(const nest::guard& walked, int variable) {
  return walked.strides.at(variable).as_constant().value_or(0);
}

bool same_walk(const nest::guard& a, const nest::guard& b) {
  return a.strides == b.strides;
}

bool shares(const nest::guard& a, const std::map<int, polynomial>& strides) {
  return std::any_of(strides.begin(), strides.end(), [&](const auto& s) { return a.strides.contains(s.first); });
}

/// Dimensions that the operand's loads walk by several variables of whole steps, where no load and no value has these variables in another
/// way.
std::vector<nest::guard> windows_of(const nest::program& p, int root) {
  std::set<int> nodes;
  collect(p, root, nodes);
  std::vector<nest::guard> all;
  for (const int id : nodes)
    for (const nest::guard& w : p.nodes[at(id)].windows)
      if (std::none_of(all.begin(), all.end(), [&](const nest::guard& known) { return same_walk(known, w); })) all.push_back(w);
  const auto only_so = [&](const nest::guard& w) {
    for (const nest::guard& other : all)
      if (!same_walk(w, other) && shares(w, other.strides)) return false;
    for (const auto& [variable, stride] : w.strides) {
      if (factor_of(w, variable) == 0) return false;
      for (const int id : nodes) {
        const node& n = p.nodes[at(id)];
        if (n.kind == node_kind::variable && n.symbol == variable) return false;
        if (n.kind != node_kind::load || !n.where.strides.contains(variable)) continue;
        // Once, in this dimension, and in no other.
        const auto own =
            std::count_if(n.windows.begin(), n.windows.end(), [&](const nest::guard& o) { return o.strides.contains(variable); });
        if (own != 1) return false;
        for (const auto& [second, other_stride] : w.strides)
          if (!(n.where.stride(variable) * polynomial::constant(factor_of(w, second)) ==
                n.where.stride(second) * polynomial::constant(factor_of(w, variable))))
            return false;
      }
    }
    return true;
  };
  std::vector<nest::guard> kept;
  std::copy_if(all.begin(), all.end(), std::back_inserter(kept), only_so);
  return kept;
}

/// `p` / `by`, where every coefficient allows it.
polynomial divided(polynomial p, std::int64_t by) {
  for (auto& [product, coefficient] : p.terms) coefficient /= by;
  return p;
}

bool divisible(const polynomial& p, std::int64_t by) {
  return std::all_of(p.terms.begin(), p.terms.end(), [&](const auto& term) { return term.second % by == 0; });
}

/// Is `variable` one that a window walks together with others?
bool in_window(const std::vector<nest::guard>& windows, int variable) {
  return std::any_of(windows.begin(), windows.end(), [&](const nest::guard& w) { return w.strides.contains(variable); });
}

/// Chooses which indices of the depth lie contiguously in packed operands: the longest that no window walks, and more where that would be
/// padded much.
void choose_inner(gemm_plan& plan, gemm_flattening& f) {
  const std::vector<std::int64_t> axes = typical_axes(*plan.nest.p.ir);
  std::vector<nest::guard> windows = windows_of(plan.nest.p, plan.nest.left);
  for (nest::guard& w : windows_of(plan.nest.p, plan.nest.right)) windows.push_back(std::move(w));
  std::vector<int> order = plan.nest.depth;
  const auto extent = [&](int variable) { return plan.nest.extent(variable).value(axes); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const bool walked_a = in_window(windows, a), walked_b = in_window(windows, b);
    return walked_a != walked_b ? !walked_a : !walked_a && extent(a) > extent(b);
  });
  // Of those that windows walk, the last is the most contiguous.
  std::reverse(std::find_if(order.begin(), order.end(), [&](int v) { return in_window(windows, v); }), order.end());
  std::int64_t length = 1;
  for (const int variable : order) {
    const bool enough = !f.inner.empty() && static_cast<double>((length + 7) / 8 * 8) <= most_padding * static_cast<double>(length);
    if (enough) break;
    f.inner.insert(f.inner.begin(), variable);
    length *= extent(variable);
  }
  for (const int variable : plan.nest.depth)
    if (std::find(f.inner.begin(), f.inner.end(), variable) == f.inner.end()) f.depth.push_back(variable);
}

/// Nodes below what follows the sum.
std::set<int> finish_nodes(const nest::contraction_plan& plan) {
  std::set<int> nodes;
  for (const nest::step& s : plan.steps)
    if (s.root >= 0) collect(plan.p, s.root, nodes);
  return nodes;
}

bool mergeable_after(const nest::contraction_plan& plan, int outer, int inner) {
  const polynomial extent = plan.extent(inner);
  const auto fits = [&](const linear_form& form) { return form.stride(outer) == form.stride(inner) * extent; };
  for (const nest::step& s : plan.steps)
    if (s.stored && !fits(s.target)) return false;
  for (const int id : finish_nodes(plan)) {
    const node& n = plan.p.nodes[at(id)];
    if (n.kind == node_kind::variable && (n.symbol == outer || n.symbol == inner)) return false;
    if (n.kind == node_kind::load && (!fits(n.where) || !n.guards.empty())) return false;
  }
  return true;
}

void merge_after(nest::contraction_plan& plan, int outer, int inner) {
  std::vector<linear_form> none;
  plan.p.merge(outer, inner, none);
  for (nest::step& s : plan.steps) s.target.strides.erase(outer);
}

/// Merges the last of `parts` as far as that goes; how many became one.
std::size_t merge_last(nest::contraction_plan& plan, std::vector<int>& parts) {
  std::size_t merged = 1;
  while (parts.size() > 1 && mergeable_after(plan, parts[parts.size() - 2], parts.back())) {
    merge_after(plan, parts[parts.size() - 2], parts.back());
    parts.erase(parts.end() - 2);
    ++merged;
  }
  return merged;
}

/// The operand's tree over the windows' own variables.
void pack_operand(const gemm_plan& plan, gemm_operand& o, const std::vector<int>& outer) {
  o.packed = plan.nest.p;
  o.packed_root = o.root;
  std::set<int> nodes;
  collect(o.packed, o.root, nodes);
  for (const nest::guard& w : windows_of(plan.nest.p, o.root)) {
    // An index that is packed contiguously has a place of its own.
    if (std::any_of(plan.flat->inner.begin(), plan.flat->inner.end(), [&](int v) { return w.strides.contains(v); })) continue;
    gemm_window window;
    window.variable = static_cast<int>(o.packed.variables.size());
    nest::loop_variable walked;
    walked.extent = polynomial::constant(1);
    std::int64_t smallest = 0;
    for (const auto& [variable, stride] : w.strides) {
      const std::int64_t factor = factor_of(w, variable);
      window.factors[variable] = factor;
      smallest = smallest == 0 ? std::abs(factor) : std::min(smallest, std::abs(factor));
      const polynomial last = plan.nest.extent(variable) + polynomial::constant(-1);
      walked.name += (walked.name.empty() ? "" : "_") + plan.nest.p.variables[at(variable)].name;
      walked.extent = walked.extent + polynomial::constant(std::abs(factor)) * last;
      if (factor < 0) window.least = window.least + polynomial::constant(factor) * last;
    }
    const bool whole = std::all_of(nodes.begin(), nodes.end(), [&](int id) {
      const node& n = o.packed.nodes[at(id)];
      return n.kind != node_kind::load || std::all_of(window.factors.begin(), window.factors.end(),
                                                      [&](const auto& f) { return divisible(n.where.stride(f.first), f.second); });
    });
    if (!whole) continue;
    o.packed.variables.push_back(std::move(walked));
    const auto replace = [&](std::map<int, polynomial>& strides, polynomial& offset) {
      const auto [variable, factor] = *window.factors.begin();
      const auto found = strides.find(variable);
      if (found == strides.end()) return;
      const polynomial step = divided(found->second, factor);
      for (const auto& [old, ignored] : window.factors) strides.erase(old);
      strides[window.variable] = step;
      offset = offset + step * window.least;
    };
    for (const int id : nodes) {
      node& n = o.packed.nodes[at(id)];
      if (n.kind != node_kind::load) continue;
      replace(n.where.strides, n.where.offset);
      for (nest::guard& g : n.guards) replace(g.strides, g.offset);
    }
    o.windows.push_back(std::move(window));
  }
  const std::set<int> used = plan.nest.p.used(o.root);
  o.lines = o.batch;
  const auto add = [&](int variable) {
    if (!used.contains(variable)) return;
    for (const gemm_window& w : o.windows)
      if (w.factors.contains(variable)) variable = w.variable;
    if (std::find(o.lines.begin(), o.lines.end(), variable) == o.lines.end()) o.lines.push_back(variable);
  };
  for (const int variable : outer) add(variable);
  for (const int variable : plan.flat->depth) add(variable);
}

}  // namespace

bool flatten(gemm_plan& plan) {
  gemm_flattening f;
  f.rows = plan.nest.row_outer;
  f.rows.push_back(plan.nest.row);
  f.columns = plan.nest.column_outer;
  f.columns.push_back(plan.nest.column);
  choose_inner(plan, f);
  if (f.inner.empty()) return false;
  f.finish = plan.nest;
  f.finish_rows = f.rows;
  f.finish_columns = f.columns;
  f.run = merge_last(f.finish, f.finish_columns);
  f.finish_columns.pop_back();
  static_cast<void>(merge_last(f.finish, f.finish_rows));
  plan.flat = std::move(f);
  return true;
}

void plan_packing(gemm_plan& plan) {
  pack_operand(plan, plan.left, plan.flat->rows);
  pack_operand(plan, plan.right, plan.flat->columns);
}

}  // namespace kernsmith::agents::simt
