#include "agents/synthesis/grouping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents {
namespace {

/// Statements in one group at most: keeps the number of questions to the grammars linear in the length of a definition.
constexpr int max_group_statements = 24;
/// What a group costs beside its traffic, as bytes: starting threads, and loops that run short.
constexpr double group_overhead_bytes = 64 << 10;
/// Plain loops use neither vectors nor caches well.
constexpr double plain_traffic_factor = 4;

template <class T>
const T& at(const std::vector<T>& all, int id) {
  return all[static_cast<std::size_t>(id)];
}

std::vector<int> tensors_read(const statement& s) {
  std::set<int> read;
  for (const expression& e : s.nodes)
    if (e.kind == expression_kind::load) read.insert(e.symbol);
  return {read.begin(), read.end()};
}

/// A contraction whose operands both have an index of their own, or a window: only its own grammar blocks it well.
bool is_core(const tensor_ir& ir, int id) {
  if (at(ir.classes, id) == op_class::window) return true;
  if (at(ir.classes, id) != op_class::contraction) return false;
  const statement& s = at(ir.statements, id);
  std::vector<std::set<int>> free;
  for (const int factor : factors_of(s, at(s.nodes, s.root).arguments[0])) {
    std::set<int> used = variables_of(s, factor);
    std::erase_if(used, [&](int v) { return !at(s.variables, v).free; });
    free.push_back(std::move(used));
  }
  const auto has_own = [](const std::set<int>& a, const std::set<int>& b) {
    return !std::includes(b.begin(), b.end(), a.begin(), a.end());
  };
  for (const std::set<int>& a : free)
    for (const std::set<int>& b : free)
      if (has_own(a, b) && has_own(b, a)) return true;
  return false;
}

class planner {
 public:
  planner(const tensor_ir& ir, const grammar_list& grammars) : ir_(ir), grammars_(grammars) {
    for (std::size_t id = 0; id < ir.tensors.size(); ++id) {
      consumers_.push_back(ir.consumers(static_cast<int>(id)));
      double most = 1;
      for (const workload& w : ir.workloads) most = std::max(most, static_cast<double>(element_count(shape_of(ir.tensors[id], w.axes))));
      bytes_.push_back(most * static_cast<double>(size_of(ir.tensors[id].type)));
    }
    for (std::size_t id = 0; id < ir.statements.size(); ++id) core_.push_back(is_core(ir, static_cast<int>(id)));
  }

  /// The cheapest split of statements [first, last).
  std::vector<planned_group> split(int first, int last, double* total = nullptr) {
    const auto count = static_cast<std::size_t>(last - first);
    std::vector<double> best(count + 1, std::numeric_limits<double>::infinity());
    std::vector<planned_group> choice(count);
    best[count] = 0;
    for (int begin = last - 1; begin >= first; --begin) {
      const auto slot = static_cast<std::size_t>(begin - first);
      for (int end = begin + 1; end <= std::min(last, begin + max_group_statements); ++end) {
        const planned_group planned = plan(begin, end);
        if (planned.grammar == nullptr) continue;
        const double cost = traffic(planned) + best[static_cast<std::size_t>(end - first)];
        if (cost < best[slot]) {
          best[slot] = cost;
          choice[slot] = planned;
        }
      }
    }
    std::vector<planned_group> groups;
    for (std::size_t slot = 0; slot < count; slot += choice[slot].group.statements.size()) groups.push_back(choice[slot]);
    if (total != nullptr) *total = best[0];
    return groups;
  }

  /// Statements of the group before its first contraction or window; 0 when there are none.
  int prologue_length(const planned_group& planned) const {
    const std::vector<int>& ids = planned.group.statements;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (core_[static_cast<std::size_t>(ids[i])]) return static_cast<int>(i);
    return 0;
  }

 private:
  planned_group plan(int begin, int end) {
    planned_group planned;
    bool has_core = false;
    for (int id = begin; id < end; ++id) {
      planned.group.statements.push_back(id);
      has_core = has_core || core_[static_cast<std::size_t>(id)];
    }
    planned.group.name = at(ir_.tensors, at(ir_.statements, end - 1).target).name;
    for (const auto& grammar : grammars_) {
      if (has_core && end - begin > 1 && grammar->name() == "row") continue;
      if (!grammar->accepts(ir_, planned.group)) continue;
      planned.grammar = grammar.get();
      break;
    }
    return planned;
  }

  /// Bytes that the group exchanges with memory when every tensor is moved once.
  double traffic(const planned_group& planned) const {
    const std::vector<int>& ids = planned.group.statements;
    const auto inside = [&](int id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); };
    std::set<int> moved;
    for (const int id : ids) {
      const statement& s = at(ir_.statements, id);
      for (const int tensor : tensors_read(s)) {
        const int writer = ir_.producer(tensor);
        if (writer < 0 || !inside(writer)) moved.insert(tensor);
      }
      const std::vector<int>& readers = at(consumers_, s.target);
      const bool escapes = std::any_of(readers.begin(), readers.end(), [&](int reader) { return !inside(reader); });
      if (escapes || at(ir_.tensors, s.target).role == tensor_role::output) moved.insert(s.target);
    }
    double bytes = group_overhead_bytes;
    for (const int tensor : moved) bytes += at(bytes_, tensor);
    return planned.grammar->name() == "plain" ? bytes * plain_traffic_factor : bytes;
  }

  const tensor_ir& ir_;
  const grammar_list& grammars_;
  std::vector<std::vector<int>> consumers_;
  std::vector<double> bytes_;
  std::vector<bool> core_;
};

/// Statements so that what a statement reads is computed right before it, as far as possible: chains become neighbours.
tensor_ir producers_first(const tensor_ir& ir) {
  std::vector<int> order;
  std::vector<bool> placed(ir.statements.size(), false);
  const auto place = [&](const auto& self, int id) -> void {
    if (placed[static_cast<std::size_t>(id)]) return;
    placed[static_cast<std::size_t>(id)] = true;
    std::vector<int> writers;
    for (const int tensor : tensors_read(at(ir.statements, id)))
      if (const int writer = ir.producer(tensor); writer >= 0) writers.push_back(writer);
    std::sort(writers.begin(), writers.end());
    for (const int writer : writers) self(self, writer);
    order.push_back(id);
  };
  for (std::size_t id = 0; id < ir.statements.size(); ++id)
    if (ir.consumers(ir.statements[id].target).empty()) place(place, static_cast<int>(id));
  for (std::size_t id = 0; id < ir.statements.size(); ++id) place(place, static_cast<int>(id));
  tensor_ir moved = ir;
  for (std::size_t i = 0; i < order.size(); ++i) {
    moved.statements[i] = at(ir.statements, order[i]);
    moved.classes[i] = at(ir.classes, order[i]);
  }
  return moved;
}

/// Names of the groups of the second way must not be those of the first: their decisions share one space.
void rename(std::vector<planned_group>& groups, const std::string& taken) {
  for (planned_group& planned : groups)
    if (planned.group.name == taken) planned.group.name += "_apart";
}

std::string target_names(const tensor_ir& ir, const fusion_group& group) {
  std::string text;
  for (const int id : group.statements) text += (text.empty() ? "" : ", ") + at(ir.tensors, at(ir.statements, id).target).name;
  return text;
}

planned_run with_alternatives(planner& plans, const tensor_ir& ir, planned_group fused) {
  planned_run run;
  const int prologue = plans.prologue_length(fused);
  if (prologue > 0) {
    const int first = fused.group.statements.front(), core = first + prologue, last = fused.group.statements.back() + 1;
    std::vector<planned_group> apart = plans.split(first, core);
    const fusion_group ahead{"", {fused.group.statements.begin(), fused.group.statements.begin() + prologue}};
    const std::vector<planned_group> rest = plans.split(core, last);
    apart.insert(apart.end(), rest.begin(), rest.end());
    rename(apart, fused.group.name);
    run.fuse_decision = fused.group.name + ".fuse";
    run.fuse_meaning = fmt::format("compute {} inside the loops of {}, or store it first", target_names(ir, ahead), fused.group.name);
    run.ways = {{std::move(fused)}, std::move(apart)};
  } else {
    run.ways = {{std::move(fused)}};
  }
  return run;
}

/// One line per intermediate that goes through memory, and per statement that only plain loops could compute.
std::vector<std::string> describe_boundaries(const tensor_ir& ir, const std::vector<planned_group>& groups) {
  std::vector<std::string> notes;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const fusion_group& group = groups[g].group;
    if (groups[g].grammar->name() == "plain") {
      const statement& s = at(ir.statements, group.statements[0]);
      notes.push_back(fmt::format("the grammar has no schedule for '{}': it is computed by plain parallel loops", s.text));
    }
    for (std::size_t later = g + 1; later < groups.size(); ++later) {
      for (const int id : group.statements) {
        const int target = at(ir.statements, id).target;
        const std::vector<int> readers = ir.consumers(target);
        const std::vector<int>& ids = groups[later].group.statements;
        const bool read =
            std::any_of(readers.begin(), readers.end(), [&](int r) { return std::find(ids.begin(), ids.end(), r) != ids.end(); });
        if (!read || at(ir.tensors, target).role == tensor_role::output) continue;
        notes.push_back(fmt::format("the grammar could not fuse '{}' with '{}': it goes through memory", at(ir.tensors, target).name,
                                    groups[later].group.name));
      }
    }
  }
  return notes;
}

}  // namespace

grouping plan_groups(tensor_ir ir, const grammar_list& grammars) {
  double as_written = 0, reordered = 0;
  const int count = static_cast<int>(ir.statements.size());
  std::vector<planned_group> groups = planner(ir, grammars).split(0, count, &as_written);
  tensor_ir moved = producers_first(ir);
  std::vector<planned_group> moved_groups = planner(moved, grammars).split(0, count, &reordered);
  if (reordered < as_written) {
    ir = std::move(moved);
    groups = std::move(moved_groups);
  }
  grouping planned;
  planned.ir = std::move(ir);
  planner plans(planned.ir, grammars);
  planned.notes = describe_boundaries(planned.ir, groups);
  for (planned_group& group : groups) planned.runs.push_back(with_alternatives(plans, planned.ir, std::move(group)));
  return planned;
}

}  // namespace kernsmith::agents
