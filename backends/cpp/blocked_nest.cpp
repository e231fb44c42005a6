// The float64 reference's nest. One index is laid across arrays of accumulators that live in the first-level cache: a free one (a matmul's
// columns) or a bound one (a row's elements, combined at the end); up to two other free indices are unrolled so that what one load brings
// serves several results. The compiler vectorises the innermost loop.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/cpp/loop_nest.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::int64_t free_tile_width = 256;
constexpr std::int64_t max_lanes = 128;
constexpr std::int64_t min_lane_extent = 16;  // a shorter reduction is not worth an array
constexpr std::int64_t min_tile_extent = 8;
constexpr int block_one = 4;    // rows sharing a load
constexpr int block_outer = 2;  // of a second blocked index

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}
variable_set bit(int variable) {
  return variable_set{1} << variable;
}

struct nest_plan {
  std::vector<int> reductions;  ///< children first
  int tiled = -1;               ///< free index laid across the accumulators, or -1
  int innermost = -1;           ///< free index that no reduction depends on: a plain inner loop, or -1
  std::vector<int> outer;
  std::vector<std::pair<int, int>> blocked;  ///< index and unroll
};

/// One unrolled combination of the blocked indices.
struct copy {
  std::vector<int> steps;  ///< parallel to plan.blocked
  bindings b;
};

class blocked_writer {
 public:
  blocked_writer(code_text& code, const nest_task& task) : code_(code), task_(task) {}
  bool write();

 private:
  [[nodiscard]] std::int64_t usual_extent(int variable) const;
  [[nodiscard]] int bad_loads(int reduction_node, int variable) const;
  [[nodiscard]] int lane_variable(int node) const;
  [[nodiscard]] int lane_cost(int node) const;
  [[nodiscard]] bool make_plan();
  void choose_tile();
  void choose_blocks();
  void open_outer_loops(bool tile_inside);
  void open_tile_loop();
  std::vector<copy> make_copies();
  [[nodiscard]] std::vector<copy*> distinct(std::vector<copy>& copies, int node) const;
  [[nodiscard]] std::string suffix(const copy& c, int node) const;
  void share(std::vector<copy>& copies, int node, const std::string& subscript) const;
  void write_outside(std::vector<copy>& copies, int node);
  void write_lanes(std::vector<copy>& copies, int node, int lane);
  void write_tile(std::vector<copy>& copies, int node);
  void write_updates(const std::vector<copy*>& which, int node, const std::string& subscript);

  code_text& code_;
  const nest_task& task_;
  nest_plan plan_;
  int opened_ = 0;
};

std::int64_t blocked_writer::usual_extent(int variable) const {
  std::int64_t most = 1;
  for (const workload& w : task_.p.workloads) most = std::max(most, extent_of(task_.s.variables[at(variable)].extent, w.axes));
  return most;
}

/// Loads in a reduction's body that neighbouring values of `variable` would scatter: not the same element, not the next one.
int blocked_writer::bad_loads(int reduction_node, int variable) const {
  int bad = 0;
  std::vector<bool> seen(task_.s.nodes.size(), false);
  std::vector<int> open{task_.s.nodes[at(reduction_node)].arguments[0]};
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    if (seen[at(node)]) continue;
    seen[at(node)] = true;
    const expression& e = task_.s.nodes[at(node)];
    for (int child : e.arguments) {
      if (task_.s.nodes[at(child)].kind != expression_kind::reduce) open.push_back(child);
    }
    for (std::size_t d = 0; d < e.indices.size(); ++d) {
      const index_expression& index = e.indices[d];
      if (index.gather >= 0) {
        open.push_back(index.gather);
        if ((task_.expressions.depends_on(index.gather) & bit(variable)) != 0) ++bad;
      }
      for (const affine_term& term : index.terms) {
        const bool next = d + 1 == e.indices.size() && term.coefficient == 1 && term.axes.empty();
        if (term.index == variable && !next) ++bad;
      }
    }
  }
  return bad;
}

int blocked_writer::lane_variable(int node) const {
  const expression& e = task_.s.nodes[at(node)];
  if (e.reducer == reduction::argmax || e.reducer == reduction::argmin) return -1;
  int best = -1, best_bad = 0;
  for (int variable : e.bound) {
    if (usual_extent(variable) < min_lane_extent) continue;
    const int bad = bad_loads(node, variable);
    if (best < 0 || bad < best_bad) {
      best = variable;
      best_bad = bad;
    }
  }
  return best;
}

int blocked_writer::lane_cost(int node) const {
  const int lane = lane_variable(node);
  return lane < 0 ? 3 : bad_loads(node, lane);
}

void blocked_writer::choose_tile() {
  int best = -1, best_cost = 0, lanes_cost = 0;
  for (int node : plan_.reductions) lanes_cost += lane_cost(node);
  for (int variable : task_.s.target_indices) {
    if (usual_extent(variable) < min_tile_extent) continue;
    int cost = 0;
    bool used = false, possible = true;
    for (int node : plan_.reductions) {
      if ((task_.expressions.depends_on(node) & bit(variable)) == 0) {
        cost += lane_cost(node);
        continue;
      }
      const reduction r = task_.s.nodes[at(node)].reducer;
      possible &= r != reduction::argmax && r != reduction::argmin;
      used = true;
      cost += bad_loads(node, variable);
    }
    if (used && possible && (best < 0 || cost <= best_cost)) {
      best = variable;
      best_cost = cost;
    }
  }
  if (best >= 0 && best_cost <= lanes_cost) plan_.tiled = best;
}

void blocked_writer::choose_blocks() {
  std::vector<int> reused;
  for (int variable : plan_.outer) {
    bool depends = false, shared = false;
    for (int node : plan_.reductions) {
      if ((task_.expressions.depends_on(node) & bit(variable)) == 0) continue;
      depends = true;
      for (std::size_t n = 0; n < task_.s.nodes.size(); ++n) {
        const variable_set uses = task_.expressions.depends_on(static_cast<int>(n));
        shared |= task_.s.nodes[n].kind == expression_kind::load && (uses & bit(variable)) == 0 && uses != 0;
      }
    }
    if (depends && shared && usual_extent(variable) >= block_one) reused.push_back(variable);
  }
  if (reused.empty()) return;
  if (plan_.tiled < 0 && reused.size() > 1) plan_.blocked.emplace_back(reused[reused.size() - 2], block_outer);
  plan_.blocked.emplace_back(reused.back(), block_one);
  for (const auto& [variable, unroll] : plan_.blocked) plan_.outer.erase(std::find(plan_.outer.begin(), plan_.outer.end(), variable));
}

bool blocked_writer::make_plan() {
  plan_.reductions = task_.expressions.reductions_under(task_.s.root);
  variable_set used = 0;
  for (int node : plan_.reductions) {
    if (task_.s.nodes[at(node)].kind == expression_kind::scan) return false;
    used |= task_.expressions.depends_on(node);
    for (int inner : task_.expressions.reductions_under(node)) {
      for (int variable : task_.s.nodes[at(node)].bound) {
        if (inner != node && (task_.expressions.depends_on(inner) & bit(variable)) != 0) return false;
      }
    }
  }
  choose_tile();
  for (int variable : task_.s.target_indices) {
    if (variable != plan_.tiled) plan_.outer.push_back(variable);
  }
  if (plan_.tiled < 0 && !plan_.outer.empty() && (used & bit(plan_.outer.back())) == 0) {
    plan_.innermost = plan_.outer.back();
    plan_.outer.pop_back();
  }
  if (!plan_.reductions.empty()) choose_blocks();
  return true;
}

void blocked_writer::open_tile_loop() {
  const std::string name = task_.variable_name(plan_.tiled), extent = task_.extent(plan_.tiled);
  code_.open(fmt::format("for (int64_t {0}_tile = 0; {0}_tile < {1}; {0}_tile += {2})", name, extent, free_tile_width));
  ++opened_;
}

void blocked_writer::open_outer_loops(bool tile_inside) {
  const std::size_t loops = plan_.outer.size() + plan_.blocked.size() + (tile_inside ? 1 : 0);
  if (loops > 0) code_.line(fmt::format("#pragma omp parallel for schedule(static) collapse({})", loops));
  for (int variable : plan_.outer) {
    code_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", task_.variable_name(variable), task_.extent(variable)));
    ++opened_;
  }
  if (tile_inside) open_tile_loop();
  for (const auto& [variable, unroll] : plan_.blocked) {
    code_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; {0} += {2})", task_.variable_name(variable), task_.extent(variable), unroll));
    ++opened_;
  }
}

std::vector<copy> blocked_writer::make_copies() {
  for (const auto& [variable, unroll] : plan_.blocked) {
    const std::string name = task_.variable_name(variable);
    for (int step = 1; step < unroll; ++step) {  // past the end: the last one again, which stores the same value twice
      code_.line(fmt::format("const int64_t {0}_{1} = std::min({0} + {1}, {2} - 1);", name, step, task_.extent(variable)));
    }
  }
  std::vector<copy> copies{{{}, task_.fresh_bindings()}};
  for (const auto& [variable, unroll] : plan_.blocked) {
    std::vector<copy> more;
    for (const copy& c : copies) {
      for (int step = 0; step < unroll; ++step) {
        copy next = c;
        next.steps.push_back(step);
        if (step > 0) next.b.variables[at(variable)] = fmt::format("{}_{}", task_.variable_name(variable), step);
        more.push_back(std::move(next));
      }
    }
    copies = std::move(more);
  }
  return copies;
}

std::string blocked_writer::suffix(const copy& c, int node) const {
  std::string text;
  for (std::size_t i = 0; i < plan_.blocked.size(); ++i) {
    if ((task_.expressions.depends_on(node) & bit(plan_.blocked[i].first)) != 0) text += fmt::format("_{}", c.steps[i]);
  }
  return text;
}

/// Copies for which the reduction has different values: the first of each.
std::vector<copy*> blocked_writer::distinct(std::vector<copy>& copies, int node) const {
  std::vector<copy*> which;
  std::vector<std::string> seen;
  for (copy& c : copies) {
    const std::string name = suffix(c, node);
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) continue;
    seen.push_back(name);
    which.push_back(&c);
  }
  return which;
}

void blocked_writer::share(std::vector<copy>& copies, int node, const std::string& subscript) const {
  for (copy& c : copies) c.b.nodes[at(node)] = fmt::format("r{}{}{}", node, suffix(c, node), subscript);
}

void blocked_writer::write_updates(const std::vector<copy*>& which, int node, const std::string& subscript) {
  const value_type type = task_.expressions.accumulator_type(node);
  for (copy* c : which) {
    const std::string name = fmt::format("r{}{}{}", node, suffix(*c, node), subscript);
    const std::string next = task_.expressions.value_as(task_.s.nodes[at(node)].arguments[0], type, c->b);
    code_.line(fmt::format("{} = {};", name, task_.expressions.combine(node, name, next)));
  }
}

void blocked_writer::write_lanes(std::vector<copy>& copies, int node, int lane) {
  const expression& e = task_.s.nodes[at(node)];
  const std::vector<copy*> which = distinct(copies, node);
  const std::string type = type_text(task_.expressions.accumulator_type(node)), identity = task_.expressions.identity(node);
  const auto width = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::min(usual_extent(lane), max_lanes))));
  for (const copy* c : which) {
    code_.line(fmt::format("{} r{}{}_lanes[{}];", type, node, suffix(*c, node), width));
    code_.line(fmt::format("std::fill_n(r{}{}_lanes, {}, {}({}));", node, suffix(*c, node), width, type, identity));
  }
  const std::string name = task_.variable_name(lane), extent = task_.extent(lane);
  for (int variable : e.bound) {
    if (variable != lane)
      code_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", task_.variable_name(variable), task_.extent(variable)));
  }
  code_.open(fmt::format("for (int64_t {0}_first = 0; {0}_first < {1}; {0}_first += {2})", name, extent, width));
  code_.line(fmt::format("const int64_t width = std::min<int64_t>({}, {} - {}_first);", width, extent, name));
  code_.open("for (int64_t lane = 0; lane < width; ++lane)");
  code_.line(fmt::format("const int64_t {0} = {0}_first + lane;", name));
  write_updates(which, node, "_lanes[lane]");
  for (std::size_t i = 0; i < e.bound.size() + 1; ++i) code_.close();
  for (const copy* c : which) {
    const std::string value = fmt::format("r{}{}", node, suffix(*c, node));
    code_.line(fmt::format("{} {} = {};", type, value, identity));
    code_.line(fmt::format("for (int64_t lane = 0; lane < {}; ++lane) {} = {};", width, value,
                           task_.expressions.combine(node, value, value + "_lanes[lane]")));
  }
  share(copies, node, "");
}

void blocked_writer::write_outside(std::vector<copy>& copies, int node) {
  const int lane = lane_variable(node);
  if (lane >= 0) return write_lanes(copies, node, lane);
  for (copy* c : distinct(copies, node)) {
    bindings scratch = c->b;
    write_reduction(code_, task_, node, scratch, ~variable_set{0}, suffix(*c, node));
    const std::string bound = scratch.nodes[at(node)];
    for (copy& other : copies) {
      if (suffix(other, node) == suffix(*c, node)) other.b.nodes[at(node)] = bound;
    }
  }
}

void blocked_writer::write_tile(std::vector<copy>& copies, int node) {
  const expression& e = task_.s.nodes[at(node)];
  const std::vector<copy*> which = distinct(copies, node);
  const std::string type = type_text(task_.expressions.accumulator_type(node)), name = task_.variable_name(plan_.tiled);
  for (const copy* c : which) {
    code_.line(fmt::format("{} r{}{}_tile[{}];", type, node, suffix(*c, node), free_tile_width));
    code_.line(fmt::format("std::fill_n(r{}{}_tile, {}, {}({}));", node, suffix(*c, node), free_tile_width, type,
                           task_.expressions.identity(node)));
  }
  for (int variable : e.bound) {
    code_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", task_.variable_name(variable), task_.extent(variable)));
  }
  code_.open("for (int64_t lane = 0; lane < width; ++lane)");
  code_.line(fmt::format("const int64_t {0} = {0}_tile + lane;", name));
  write_updates(which, node, "_tile[lane]");
  for (std::size_t i = 0; i < e.bound.size() + 1; ++i) code_.close();
  share(copies, node, "_tile[lane]");
}

bool blocked_writer::write() {
  if (!make_plan()) return false;
  const auto depends_on_tile = [&](int node) { return plan_.tiled >= 0 && (task_.expressions.depends_on(node) & bit(plan_.tiled)) != 0; };
  const bool all_tiled = plan_.tiled >= 0 && std::all_of(plan_.reductions.begin(), plan_.reductions.end(), depends_on_tile);
  code_.open("");
  open_outer_loops(all_tiled);
  std::vector<copy> copies = make_copies();
  for (int node : plan_.reductions) {
    if (!depends_on_tile(node)) write_outside(copies, node);
  }
  if (plan_.tiled >= 0) {
    const std::string name = task_.variable_name(plan_.tiled);
    if (!all_tiled) open_tile_loop();
    code_.line(fmt::format("const int64_t width = std::min<int64_t>({}, {} - {}_tile);", free_tile_width, task_.extent(plan_.tiled), name));
    for (int node : plan_.reductions) {
      if (depends_on_tile(node)) write_tile(copies, node);
    }
    code_.open("for (int64_t lane = 0; lane < width; ++lane)");
    code_.line(fmt::format("const int64_t {0} = {0}_tile + lane;", name));
    ++opened_;
  } else if (plan_.innermost >= 0) {
    if (opened_ == 0) code_.line("#pragma omp parallel for schedule(static)");
    code_.open(fmt::format("for (int64_t {0} = 0; {0} < {1}; ++{0})", task_.variable_name(plan_.innermost), task_.extent(plan_.innermost)));
    ++opened_;
  }
  for (const copy& c : copies) code_.line(task_.expressions.store(c.b));
  for (; opened_ > 0; --opened_) code_.close();
  code_.close();
  return true;
}

}  // namespace

bool write_blocked_nest(code_text& code, const nest_task& task) {
  return blocked_writer(code, task).write();
}

}  // namespace kernsmith::cpp
