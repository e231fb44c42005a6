#include "agents/synthesis/contraction_grammar_plan.hpp"

#include <algorithm>
#include <bit>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents::nest {
namespace {

constexpr std::int64_t exact_byte_depth = 33025;  // 255 * 255 * this < 2^31
constexpr std::size_t max_factors = 8;            // partitions of the factors are tried one by one

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
}

/// Factors of a product, looked at through real casts that keep the value in the arithmetic of the nest.
void collect_factors(const statement& s, int id, std::vector<int>& factors) {
  const expression& e = s.nodes[at(id)];
  const bool widens = e.kind == expression_kind::cast && (e.cast_to == dtype::f32 || e.cast_to == dtype::f64);
  if (widens) {
    const expression& argument = s.nodes[at(e.arguments[0])];
    if (argument.type == value_class::real && argument.kind == expression_kind::call && argument.op == operation::multiply)
      return collect_factors(s, e.arguments[0], factors);
  }
  if (e.kind == expression_kind::call && e.op == operation::multiply) {
    for (const int argument : e.arguments) collect_factors(s, argument, factors);
    return;
  }
  factors.push_back(id);
}

/// How the free variables fall when the factors in `mask` are the left operand: the smaller `size`, the better the split.
struct split {
  std::set<int> left, right;
  std::size_t size() const { return left.size() + right.size(); }
};

/// Both operands must vary along the depth and one of them over a free variable of its own; else it is a row reduction with a scale.
std::optional<split> split_factors(const std::vector<std::set<int>>& used, unsigned mask, const std::set<int>& free) {
  split s;
  for (std::size_t f = 0; f < used.size(); ++f) (mask >> f & 1U ? s.left : s.right).insert(used[f].begin(), used[f].end());
  bool left_only = false, right_only = false;
  for (const int variable : free) {
    if (!s.left.contains(variable) && !s.right.contains(variable)) return std::nullopt;
    left_only |= !s.right.contains(variable);
    right_only |= !s.left.contains(variable);
  }
  const auto deep = [&](const std::set<int>& side) {
    return std::any_of(side.begin(), side.end(), [&](int variable) { return !free.contains(variable); });
  };
  if ((!left_only && !right_only) || !deep(s.left) || !deep(s.right)) return std::nullopt;
  return s;
}

/// An operand of exact small integer products: an 8-bit load, perhaps cast to a wider integer.
bool is_small_integer(const program& p, int root) {
  const node& n = p.nodes[at(root)];
  if (n.kind == node_kind::cast && (n.cast_to == dtype::i16 || n.cast_to == dtype::i32 || n.cast_to == dtype::i64))
    return is_small_integer(p, n.arguments[0]);
  if (n.kind != node_kind::load || n.type != value_class::integer) return false;
  const dtype type = p.ir->tensors[at(n.where.tensor)].type;
  return type == dtype::i8 || type == dtype::u8;
}

class planner {
 public:
  planner(const tensor_ir& ir, const fusion_group& group, bool window, bool flat) : ir_(ir), group_(group), window_(window), flat_(flat) {}

  std::optional<contraction_plan> run() {
    const int id = sole_reduction(ir_, group_);
    if (id < 0 || (!flat_ && (ir_.classes[at(id)] == op_class::window) != window_)) return std::nullopt;
    const statement& s = ir_.statements[at(id)];
    const expression& sum = s.nodes[at(s.root)];
    if (sum.reducer != reduction::sum || sum.type == value_class::boolean) return std::nullopt;
    program& p = plan_.p;
    p.ir = &ir_;
    p.allow_pad = window_ || flat_;
    std::vector<int> identity;
    for (const index_variable& variable : s.variables) {
      identity.push_back(static_cast<int>(p.variables.size()));
      p.variables.push_back(loop_variable{variable.name, polynomial::of(variable.extent)});
    }
    if (!plan_producers(ir_, group_, id, p) || !assign_operands(s, sum, identity)) return std::nullopt;
    if (!plan_steps(ir_, group_, id, p, s.target_indices, plan_.steps, plan_.stored) || !choose_sums(sum)) return std::nullopt;
    assign_roles(s, sum);
    return std::move(plan_);
  }

 private:
  bool assign_operands(const statement& s, const expression& sum, const std::vector<int>& identity) {
    std::vector<int> factors;
    collect_factors(s, sum.arguments[0], factors);
    if (factors.size() < 2 || factors.size() > max_factors) return false;
    std::vector<int> roots;
    std::vector<std::set<int>> used;
    for (const int factor : factors) {
      const std::optional<int> root = plan_.p.import(s, factor, identity);
      if (!root) return false;
      roots.push_back(*root);
      used.push_back(plan_.p.used(*root));
    }
    const std::set<int> free(s.target_indices.begin(), s.target_indices.end());
    std::optional<split> best;
    unsigned best_mask = 0;
    for (unsigned mask = 1; mask + 1 < 1U << factors.size(); ++mask) {
      const std::optional<split> candidate = split_factors(used, mask, free);
      if (candidate && (!best || candidate->size() < best->size())) {
        best = candidate;
        best_mask = mask;
      }
    }
    if (!best) return false;
    for (std::size_t f = 0; f < roots.size(); ++f) {
      int& side = best_mask >> f & 1U ? plan_.left : plan_.right;
      side = side < 0 ? roots[f] : plan_.p.multiply(side, roots[f]);
    }
    split_ = *best;
    return true;
  }

  /// Sums in double when any value in the nest is one, in int32 for exact 8-bit products, else in float. False: other integers.
  bool choose_sums(const expression& sum) {
    const program& p = plan_.p;
    if (sum.type == value_class::integer) {
      plan_.sums = sum_kind::i32;
      return is_small_integer(p, plan_.left) && is_small_integer(p, plan_.right) && sum.bound.size() == 1 && !involves_double() &&
             fits_int32(sum);
    }
    plan_.sums = involves_double() ? sum_kind::f64 : sum_kind::f32;
    return true;
  }

  bool involves_double() const {
    const program& p = plan_.p;
    bool wide = false;
    for (std::size_t n = 0; n < p.nodes.size(); ++n) wide |= p.reads_f64(static_cast<int>(n));
    for (const step& s : plan_.steps) wide |= s.stored && ir_.tensors[at(s.tensor)].type == dtype::f64;
    return wide;
  }

  /// Is the sum of products of bytes exact in int32 under every workload?
  bool fits_int32(const expression& sum) const {
    const polynomial& depth = plan_.p.variables[at(sum.bound[0])].extent;
    return std::all_of(ir_.workloads.begin(), ir_.workloads.end(),
                       [&](const workload& w) { return depth.value(w.axes) <= exact_byte_depth; });
  }

  void assign_roles(const statement& s, const expression& sum) {
    std::vector<linear_form> targets;
    for (const step& st : plan_.steps)
      if (st.stored) targets.push_back(st.target);
    std::vector<int> rows, columns;
    for (const int variable : s.target_indices) {
      const bool left = split_.left.contains(variable), right = split_.right.contains(variable);
      (left && right ? plan_.batch : left ? rows : columns).push_back(variable);
    }
    // The lanes lie where the last output is contiguous.
    const int last = ir_.statements[at(group_.statements.back())].target_indices.empty() ? -1 : last_variable();
    if (std::find(rows.begin(), rows.end(), last) != rows.end() || columns.empty()) {
      std::swap(rows, columns);
      std::swap(plan_.left, plan_.right);
    }
    plan_.depth = sum.bound;
    for (std::vector<int>* role : {&plan_.batch, &rows, &columns, &plan_.depth}) collapse(*role, targets);
    write_back(targets);
    plan_.column = take(columns, last);
    plan_.row = rows.empty() ? -1 : take(rows, rows.back());
    if (flat_) {
      plan_.row_outer = std::move(rows);
      plan_.column_outer = std::move(columns);
      return;
    }
    plan_.batch.insert(plan_.batch.end(), rows.begin(), rows.end());
    plan_.batch.insert(plan_.batch.end(), columns.begin(), columns.end());
  }

  /// Loop variable along which the last step's target is contiguous.
  int last_variable() const {
    for (const auto& [variable, stride] : plan_.steps.back().target.strides)
      if (stride == polynomial::constant(1)) return variable;
    return -1;
  }

  static int take(std::vector<int>& role, int wanted) {
    auto found = std::find(role.begin(), role.end(), wanted);
    if (found == role.end()) found = role.end() - 1;
    const int variable = *found;
    role.erase(found);
    return variable;
  }

  bool walked_with_others(int variable) const {
    return flat_ && std::any_of(plan_.p.nodes.begin(), plan_.p.nodes.end(), [&](const node& n) {
             return std::any_of(n.windows.begin(), n.windows.end(), [&](const guard& w) { return w.strides.contains(variable); });
           });
  }

  void collapse(std::vector<int>& role, std::vector<linear_form>& targets) {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t o = 0; o < role.size() && !again; ++o) {
        for (std::size_t i = 0; i < role.size() && !again; ++i) {
          if (o == i || walked_with_others(role[o]) || walked_with_others(role[i]) || !plan_.p.mergeable(role[o], role[i], targets))
            continue;
          plan_.p.merge(role[o], role[i], targets);
          role.erase(role.begin() + static_cast<std::ptrdiff_t>(o));
          again = true;
        }
      }
    }
  }

  void write_back(const std::vector<linear_form>& targets) {
    std::size_t next = 0;
    for (step& st : plan_.steps)
      if (st.stored) st.target = targets[next++];
  }

  const tensor_ir& ir_;
  const fusion_group& group_;
  bool window_, flat_;
  contraction_plan plan_;
  split split_;
};

}  // namespace

polynomial contraction_plan::extent(int variable) const {
  return variable < 0 ? polynomial::constant(1) : p.variables[at(variable)].extent;
}

polynomial contraction_plan::depth_extent() const {
  polynomial product = polynomial::constant(1);
  for (const int variable : depth) product = product * extent(variable);
  return product;
}

std::optional<contraction_plan> plan_contraction(const tensor_ir& ir, const fusion_group& group, bool window) {
  return planner(ir, group, window, false).run();
}

std::optional<contraction_plan> plan_flattened(const tensor_ir& ir, const fusion_group& group) {
  return planner(ir, group, false, true).run();
}

}  // namespace kernsmith::agents::nest
