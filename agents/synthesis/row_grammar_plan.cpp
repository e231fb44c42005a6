#include "agents/synthesis/row_grammar_plan.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "agents/synthesis/row_grammar_reduce.hpp"

namespace kernsmith::agents::row {
namespace {

// Relative cost of one lane's access, by how neighbouring lanes lie in memory.
constexpr double contiguous_cost = 1.0;
constexpr double uniform_cost = 0.25;
constexpr double strided_cost = 8.0;
constexpr double transposed_cost = 1.5;
/// Lanes of the narrowest vectors: an index of fewer values leaves some of them empty.
constexpr std::int64_t few_lanes = 8;

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

double access_cost(access a) {
  switch (a) {
    case access::absent:
      return uniform_cost;
    case access::contiguous:
      return contiguous_cost;
    case access::strided:
    case access::indirect:
      return strided_cost;
  }
  return strided_cost;
}

/// x[.., index, t] with a short t of one extent: read as a block and transposed.
bool is_short_rows(const row_program& p, const expression& load, int index) {
  const std::size_t rank = load.indices.size();
  if (rank < 2 || sole_index(load.indices[rank - 2]) != index) return false;
  const int last = sole_index(load.indices[rank - 1]);
  const std::int64_t extent = last < 0 ? 0 : p.common_extent(last);
  return extent > 0 && extent <= largest_fixed_extent;
}

access target_access(const row_statement& s, int index) {
  if (!contains(s.target, index)) return access::absent;
  return s.target.back() == index ? access::contiguous : access::strided;
}

/// The indices that a sink is swept over.
std::vector<int> swept_by(const row_statement& s) {
  return s.kind == role::reduce ? s.bound : s.swept;
}

/// Loads of tensors from outside the group in a statement, with their access along `index`, summed as cost.
double statement_cost(const row_program& p, const row_statement& s, int index) {
  double cost = 0;
  for (const expression& e : s.nodes)
    if (e.kind == expression_kind::load && p.written_by(e.symbol) < 0)
      cost += is_short_rows(p, e, index) ? transposed_cost : access_cost(access_of(p, s, e, index));
  if (s.stored) cost += access_cost(target_access(s, index));
  return cost;
}

double total_cost(const row_program& p, int index, const std::function<bool(const row_statement&)>& counts) {
  double cost = 0;
  for (const row_statement& s : p.statements)
    if (counts(s)) cost += statement_cost(p, s, index);
  return cost;
}

bool in_sweeps(const row_statement& s) {
  return s.kind != role::point;
}

/// Memory order of the classes: as in the access that has most of them.
std::vector<int> memory_order(const row_program& p, const std::vector<int>& classes) {
  std::vector<int> best;
  const auto consider = [&](const std::vector<int>& order) {
    if (order.size() > best.size()) best = order;
  };
  for (const row_statement& s : p.statements) {
    for (const expression& e : s.nodes) {
      if (e.kind != expression_kind::load) continue;
      std::vector<int> order;
      for (const index_expression& position : e.indices)
        for (const affine_term& term : position.terms)
          if (contains(classes, term.index) && !contains(order, term.index)) order.push_back(term.index);
      consider(order);
    }
    std::vector<int> order;
    for (const int c : s.target)
      if (contains(classes, c)) order.push_back(c);
    consider(order);
  }
  for (const int c : classes)
    if (!contains(best, c)) best.insert(best.begin(), c);
  return best;
}

/// How much longer work takes with lanes along an index that doesn't fill them.
double emptiness(const row_program& p, int index) {
  return static_cast<double>(few_lanes) / static_cast<double>(std::min(few_lanes, p.typical(index)));
}

int best_lane(const row_program& p, const std::vector<int>& candidates, const std::function<bool(const row_statement&)>& counts,
              bool fills_lanes) {
  int best = candidates.back();
  double least = std::numeric_limits<double>::infinity();
  for (auto c = candidates.rbegin(); c != candidates.rend(); ++c) {
    const double cost = total_cost(p, *c, counts) * (fills_lanes ? emptiness(p, *c) : 1.0);
    if (cost < least) {
      least = cost;
      best = *c;
    }
  }
  return best;
}

/// The classes of one sweep, outermost first, the lane index last when lanes lie inside.
std::vector<int> sweep_order(const row_program& p, const std::vector<int>& classes, lanes where) {
  std::vector<int> order = memory_order(p, classes);
  if (where == lanes::across || order.empty()) return order;
  const std::set<int> mine(classes.begin(), classes.end());
  const int lane = best_lane(
      p, order,
      [&](const row_statement& s) {
        const std::vector<int> swept = swept_by(s);
        return in_sweeps(s) && std::any_of(swept.begin(), swept.end(), [&](int c) { return mine.contains(c); });
      },
      false);
  std::erase(order, lane);
  order.push_back(lane);
  return order;
}

/// Orders the statements into stages.
class scheduler {
 public:
  scheduler(const row_program& p, plan base) : p_(p), plan_(std::move(base)) {}

  plan run() {
    plan_.kept.resize(p_.statements.size(), false);
    for (std::size_t i = 0; i < p_.statements.size(); ++i) {
      const row_statement& s = p_.statements[i];
      const int need = needs(s);
      const bool sweeps_itself = s.kind == role::reduce || s.kind == role::scan || (s.kind == role::map && s.stored);
      plan_.stage.push_back(s.kind == role::reduce ? need + 1 : need);
      if (sweeps_itself) sink(static_cast<int>(i), need + 1);
      if (s.kind == role::scan) plan_.kept[i] = true;
    }
    std::stable_sort(plan_.sweeps.begin(), plan_.sweeps.end(), [](const sweep& a, const sweep& b) { return a.stage < b.stage; });
    if (plan_.where == lanes::across)
      plan_.lane = best_lane(
          p_, p_.parallel, [](const row_statement&) { return true; }, true);
    route_buffers();
    return std::move(plan_);
  }

 private:
  /// The last stage that must be finished before the statement's value can be computed.
  int needs(const row_statement& s) const {
    int stage = 0;
    for (const expression& e : s.nodes)
      if (e.kind == expression_kind::load && p_.written_by(e.symbol) >= 0)
        stage = std::max(stage, plan_.stage[static_cast<std::size_t>(p_.written_by(e.symbol))]);
    return stage;
  }

  void sink(int statement, int stage) {
    std::vector<int> over = swept_by(p_.statements[static_cast<std::size_t>(statement)]);
    for (sweep& w : plan_.sweeps) {
      if (w.stage != stage || w.over.size() != over.size() || !std::is_permutation(over.begin(), over.end(), w.over.begin())) continue;
      w.sinks.push_back(statement);
      return;
    }
    sweep w;
    w.stage = stage;
    w.over = sweep_order(p_, over, plan_.where);
    w.sinks = {statement};
    plan_.sweeps.push_back(w);
  }

  /// Adds to `found` what evaluating statement `i` in sweep `w` takes. Values already in the buffer are leaves.
  void collect(const sweep& w, int i, const std::set<int>& buffered, std::set<int>& found, std::set<int>& read_back) const {
    for (const expression& e : p_.statements[static_cast<std::size_t>(i)].nodes) {
      if (e.kind != expression_kind::load || p_.written_by(e.symbol) < 0) continue;
      const int from = p_.written_by(e.symbol);
      const row_statement& producer = p_.statements[static_cast<std::size_t>(from)];
      if (producer.kind == role::point || producer.kind == role::reduce) continue;
      if (buffered.contains(from) && std::is_permutation(producer.swept.begin(), producer.swept.end(), w.over.begin(), w.over.end())) {
        read_back.insert(from);
        continue;
      }
      if (found.insert(from).second) collect(w, from, buffered, found, read_back);
    }
  }

  void route_buffers() {
    std::set<int> buffered;
    std::map<int, std::size_t> first_use;
    for (std::size_t k = 0; k < plan_.sweeps.size(); ++k) {
      sweep& w = plan_.sweeps[k];
      std::set<int> found, read_back;
      for (const int s : w.sinks) {
        if (p_.statements[static_cast<std::size_t>(s)].kind != role::reduce) found.insert(s);
        collect(w, s, buffered, found, read_back);
      }
      w.needed.assign(found.begin(), found.end());
      w.from_buffer.assign(read_back.begin(), read_back.end());
      for (const int s : read_back) {
        sweep& origin = plan_.sweeps[first_use[s]];
        if (!contains(origin.to_buffer, s)) origin.to_buffer.push_back(s);
      }
      for (const int s : found) {
        const row_statement& statement = p_.statements[static_cast<std::size_t>(s)];
        const bool here = std::is_permutation(statement.swept.begin(), statement.swept.end(), w.over.begin(), w.over.end());
        if (plan_.kept[static_cast<std::size_t>(s)] && here && buffered.insert(s).second) first_use[s] = k;
      }
    }
  }

  const row_program& p_;
  plan plan_;
};

}  // namespace

bool lanes_possible(const row_program& p, lanes where) {
  const bool swept = std::any_of(p.statements.begin(), p.statements.end(), in_sweeps);
  if (where == lanes::across) return !p.parallel.empty();
  return swept;
}

bool can_block(const row_program& p, const plan& chosen) {
  if (chosen.where != lanes::across || chosen.sweeps.size() != 1 || chosen.sweeps[0].over.size() != 1) return false;
  for (std::size_t i = 0; i < p.statements.size(); ++i)
    if (p.statements[i].kind == role::point && chosen.stage[i] == 0) return false;
  const std::vector<int>& sinks = chosen.sweeps[0].sinks;
  return std::all_of(sinks.begin(), sinks.end(), [&](int i) { return p.statements[static_cast<std::size_t>(i)].kind == role::reduce; });
}

bool can_part(const row_program& p, const plan& chosen) {
  if (!can_block(p, chosen)) return false;
  const std::vector<int>& sinks = chosen.sweeps[0].sinks;
  return std::none_of(sinks.begin(), sinks.end(), [&](int i) { return is_position(p.statements[static_cast<std::size_t>(i)].reducer); });
}

namespace {

bool same_value(const row_statement& a, int x, const row_statement& b, int y) {
  const expression &m = a.nodes[static_cast<std::size_t>(x)], &n = b.nodes[static_cast<std::size_t>(y)];
  if (m.kind != n.kind || m.symbol != n.symbol || m.op != n.op || m.number != n.number || m.integer != n.integer ||
      m.cast_to != n.cast_to || m.indices != n.indices || m.arguments.size() != n.arguments.size())
    return false;
  if (std::any_of(m.indices.begin(), m.indices.end(), [](const index_expression& i) { return !i.is_affine; })) return false;
  for (std::size_t i = 0; i < m.arguments.size(); ++i)
    if (!same_value(a, m.arguments[i], b, n.arguments[i])) return false;
  return true;
}

/// Is `node` NaN whenever the argument of `extreme` is?
bool carries_nan(const row_program& p, const row_statement& s, int node, const row_statement& extreme) {
  if (same_value(s, node, extreme, extreme.value)) return true;
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  if (e.type != value_class::real) return false;
  if (e.kind == expression_kind::load && p.written_by(e.symbol) >= 0) {
    const row_statement& from = p.statements[static_cast<std::size_t>(p.written_by(e.symbol))];
    return from.kind == role::map && carries_nan(p, from, from.value, extreme);
  }
  const bool passes = e.kind == expression_kind::call &&
                      (e.op == operation::add || e.op == operation::subtract || e.op == operation::multiply || e.op == operation::divide ||
                       e.op == operation::negate || e.op == operation::exp || e.op == operation::fma);
  return passes && std::any_of(e.arguments.begin(), e.arguments.end(), [&](int a) { return carries_nan(p, s, a, extreme); });
}

}  // namespace

std::optional<late_nan> find_late_nan(const row_program& p) {
  for (std::size_t m = 0; m < p.statements.size(); ++m) {
    const row_statement& extreme = p.statements[m];
    const bool is_extreme = extreme.kind == role::reduce && (extreme.reducer == reduction::max || extreme.reducer == reduction::min);
    if (!is_extreme || extreme.type != value_class::real) continue;
    for (std::size_t i = m + 1; i < p.statements.size(); ++i) {
      const row_statement& sum = p.statements[i];
      const bool sums = sum.kind == role::reduce && sum.reducer == reduction::sum && sum.type == value_class::real;
      const bool declared = p.tensor(sum.tensor).type_declared && p.tensor(sum.tensor).role == tensor_role::intermediate;
      if (sums && !declared && sum.bound == extreme.bound && carries_nan(p, sum, sum.value, extreme))
        return late_nan{static_cast<int>(m), static_cast<int>(i)};
    }
  }
  return std::nullopt;
}

bool is_power_product(const row_program& p, const row_statement& s) {
  if (p.wide || s.kind != role::reduce || s.reducer != reduction::prod || s.type != value_class::real) return false;
  const expression& body = s.nodes[static_cast<std::size_t>(s.value)];
  return body.kind == expression_kind::call && body.op == operation::pow;
}

bool streamable(const row_program& p, const plan& chosen, const row_statement& s) {
  if (chosen.how == stores::cached || !s.stored || p.tensor(s.tensor).type != (p.wide ? dtype::f64 : dtype::f32)) return false;
  if (s.kind == role::map || s.kind == role::scan) return true;
  return s.kind == role::point && chosen.where == lanes::across;
}

double lane_cost(const row_program& p, lanes where) {
  const plan probe = schedule(p, plan_with(where));
  double cost = 0;
  for (const sweep& w : probe.sweeps) {
    const int lane = where == lanes::across ? probe.lane : w.over.back();
    const double times = where == lanes::across ? emptiness(p, lane) : 1.0;
    for (const int i : w.sinks) cost += times * statement_cost(p, p.statements[static_cast<std::size_t>(i)], lane);
    for (const int i : w.needed)
      if (!contains(w.sinks, i)) cost += times * statement_cost(p, p.statements[static_cast<std::size_t>(i)], lane);
  }
  return cost;
}

std::vector<int> keepable(const row_program& p) {
  const plan probe = schedule(p, plan{});
  std::map<int, int> uses;
  for (const sweep& w : probe.sweeps)
    for (const int i : w.needed) {
      const row_statement& s = p.statements[static_cast<std::size_t>(i)];
      if (s.swept.size() == w.over.size()) ++uses[i];
    }
  std::vector<int> several;
  for (const auto& [statement, count] : uses)
    if (count > 1 && p.statements[static_cast<std::size_t>(statement)].kind != role::scan) several.push_back(statement);
  return several;
}

plan schedule(const row_program& p, plan base) {
  return scheduler(p, std::move(base)).run();
}

}  // namespace kernsmith::agents::row
