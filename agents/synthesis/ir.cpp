#include "agents/synthesis/ir.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "agents/synthesis/expression_tools.hpp"
#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/split_dimensions.hpp"

namespace kernsmith::agents {
namespace {

bool is_reduction(const expression& e) {
  return e.kind == expression_kind::reduce || e.kind == expression_kind::scan;
}

/// Axes, tensors and index variables become identifiers in one emitted scope: makes them safe and distinct. A variable keeps one name in
/// all statements.
void make_names_safe(tensor_ir& ir) {
  std::set<std::string> taken;
  const auto claim = [&](const std::string& wanted) {
    std::string name = emitted_name(wanted);
    for (int suffix = 2; !taken.insert(name).second; ++suffix) name = fmt::format("{}_{}", emitted_name(wanted), suffix);
    return name;
  };
  for (axis& a : ir.axes) a.name = claim(a.name);
  for (tensor_declaration& tensor : ir.tensors) tensor.name = claim(tensor.name);
  std::map<std::string, std::string> renamed;
  for (statement& s : ir.statements) {
    for (index_variable& variable : s.variables) {
      const auto [at, added] = renamed.try_emplace(variable.name);
      if (added) at->second = claim(variable.name);
      variable.name = at->second;
    }
  }
}

/// What values without a declared dtype are kept in: nothing may be lost between two statements.
dtype storage_of(const tensor_ir& ir, const statement& s, int node) {
  switch (s.nodes[static_cast<std::size_t>(node)].type) {
    case value_class::real:
      return involves_f64(ir.tensors, s, node) ? dtype::f64 : dtype::f32;
    case value_class::boolean:
      return dtype::boolean;
    case value_class::integer: {
      const std::optional<integer_range> range = range_of(ir.tensors, s, node);
      const bool fits =
          range && range->low >= std::numeric_limits<std::int32_t>::min() && range->high <= std::numeric_limits<std::int32_t>::max();
      return fits ? dtype::i32 : dtype::i64;
    }
  }
  return dtype::f32;
}

const expression& argument_of(const statement& s, const expression& e, std::size_t which) {
  return s.nodes[static_cast<std::size_t>(e.arguments[which])];
}

/// Integer arithmetic on literals becomes a literal: "(2 * 4)", as sizes of windows are often written, is no work for a loop.
void fold_literals(const statement& s, expression& e) {
  if (e.kind != expression_kind::call || e.type != value_class::integer) return;
  for (const int id : e.arguments) {
    const expression& argument = s.nodes[static_cast<std::size_t>(id)];
    if (argument.kind != expression_kind::number || argument.type != value_class::integer) return;
  }
  const auto value = [&](std::size_t which) { return static_cast<std::uint64_t>(argument_of(s, e, which).integer); };  // wraps, as defined
  std::uint64_t folded = 0;
  switch (e.op) {
    case operation::add:
      folded = value(0) + value(1);
      break;
    case operation::subtract:
      folded = value(0) - value(1);
      break;
    case operation::multiply:
      folded = value(0) * value(1);
      break;
    case operation::negate:
      folded = 0 - value(0);
      break;
    default:
      return;
  }
  expression literal;
  literal.kind = expression_kind::number;
  literal.type = value_class::integer;
  literal.integer = static_cast<std::int64_t>(folded);
  literal.number = static_cast<double>(literal.integer);
  literal.place = e.place;
  e = std::move(literal);
}

bool is_arithmetic(const expression& e) {
  return e.kind == expression_kind::call && (e.op == operation::add || e.op == operation::subtract || e.op == operation::multiply ||
                                             e.op == operation::divide || e.op == operation::negate);
}

/// Arithmetic on extents and literals alone whose value a real operation takes, the "H * W" of "x / (H * W)", becomes real itself: lanes
/// hold real numbers only, and a statement that needs an integer product in them could not follow a reduction in its loops. Extents are
/// far below what a product of floats would have to be exact for.
void make_sizes_real(statement& s, int id) {
  expression& e = s.nodes[static_cast<std::size_t>(id)];
  if (e.type != value_class::integer || !is_arithmetic(e)) return;
  const std::vector<int> below = subtree(s, id);
  const bool sizes = std::all_of(below.begin(), below.end(), [&](int node) {
    const expression& part = s.nodes[static_cast<std::size_t>(node)];
    return part.kind == expression_kind::number || part.kind == expression_kind::axis || is_arithmetic(part);
  });
  if (!sizes) return;
  for (const int node : below)
    if (expression& part = s.nodes[static_cast<std::size_t>(node)]; is_arithmetic(part)) part.type = value_class::real;
}

/// Turns one statement of the problem into statements whose reductions and scans are roots.
class hoister {
 public:
  hoister(tensor_ir& ir, const statement& from) : ir_(ir), from_(from) {}

  void run() {
    variable_map variables;
    statement out = begin(from_.target, from_.target_indices, variables);
    out.root = rewrite(from_.root, out, variables, true);
    out.text = hoisted_.empty() ? from_.text : statement_text(ir_.axes, ir_.tensors, out);
    tensor_declaration& target = ir_.tensors[static_cast<std::size_t>(from_.target)];
    if (target.role == tensor_role::intermediate && !target.type_declared) target.type = storage_of(ir_, out, out.root);
    ir_.statements.push_back(std::move(out));
  }

 private:
  using variable_map = std::map<int, int>;

  /// A statement whose first variables are `free`; `variables` maps ids of the problem's statement to its own.
  statement begin(int target, const std::vector<int>& free, variable_map& variables) const {
    statement out;
    out.target = target;
    out.place = from_.place;
    for (const int id : free) {
      variables[id] = static_cast<int>(out.variables.size());
      out.target_indices.push_back(variables[id]);
      out.variables.push_back(from_.variables[static_cast<std::size_t>(id)]);
      out.variables.back().free = true;
    }
    return out;
  }

  int rewrite(int node, statement& to, variable_map& variables, bool is_root) {
    const expression& e = from_.nodes[static_cast<std::size_t>(node)];
    if (is_reduction(e) && !is_root) return load_hoisted(node, to, variables);
    expression copy = e;
    for (int& argument : copy.arguments) argument = rewrite(argument, to, variables, false);
    for (index_expression& position : copy.indices)
      if (!position.is_affine) position.gather = rewrite(position.gather, to, variables, false);
    return append(std::move(copy), to, variables);
  }

  /// Appends `e`, whose children are in `to` already, with its variables renumbered.
  int append(expression e, statement& to, variable_map& variables) {
    const auto variable = [&](int id) {
      const auto [at, added] = variables.try_emplace(id, static_cast<int>(to.variables.size()));
      if (added) {
        to.variables.push_back(from_.variables[static_cast<std::size_t>(id)]);
        to.variables.back().free = false;
      }
      return at->second;
    };
    for (index_expression& position : e.indices) {
      for (affine_term& term : position.terms)
        if (term.index >= 0) term.index = variable(term.index);
      std::sort(position.terms.begin(), position.terms.end(),
                [](const affine_term& a, const affine_term& b) { return a.index != b.index ? a.index < b.index : a.axes < b.axes; });
    }
    if (e.kind == expression_kind::index) e.symbol = variable(e.symbol);
    for (int& bound : e.bound) bound = variable(bound);
    fold_literals(to, e);
    if (is_arithmetic(e) && e.type == value_class::real)
      for (const int argument : e.arguments) make_sizes_real(to, argument);
    to.nodes.push_back(std::move(e));
    return static_cast<int>(to.nodes.size()) - 1;
  }

  int load_hoisted(int node, statement& to, variable_map& variables) {
    const std::vector<int> free = dependencies(node);
    expression load;
    load.kind = expression_kind::load;
    load.type = from_.nodes[static_cast<std::size_t>(node)].type;
    load.symbol = hoist(node, free);
    load.place = from_.nodes[static_cast<std::size_t>(node)].place;
    for (const int id : free) {
      index_expression position;
      position.terms.push_back(affine_term{1, {}, id});
      load.indices.push_back(std::move(position));
    }
    return append(std::move(load), to, variables);
  }

  /// The variables that the value at `node` varies with: the statement's free ones first, in the target's order.
  std::vector<int> dependencies(int node) const {
    std::set<int> used = variables_of(from_, node);
    std::vector<int> ordered;
    for (const int id : from_.target_indices)
      if (used.erase(id) > 0) ordered.push_back(id);
    ordered.insert(ordered.end(), used.begin(), used.end());
    return ordered;
  }

  /// The tensor that holds the value of a nested reduction; equal reductions share one.
  int hoist(int node, const std::vector<int>& free) {
    const std::string key = expression_key(from_, node);
    if (const auto found = hoisted_.find(key); found != hoisted_.end()) return found->second;
    variable_map variables;
    statement out = begin(-1, free, variables);
    out.root = rewrite(node, out, variables, true);

    tensor_declaration tensor;
    tensor.name = fresh_name();
    tensor.role = tensor_role::intermediate;
    tensor.type = storage_of(ir_, out, out.root);
    tensor.place = from_.place;
    for (const int id : free) tensor.shape.push_back(from_.variables[static_cast<std::size_t>(id)].extent);
    out.target = static_cast<int>(ir_.tensors.size());
    ir_.tensors.push_back(std::move(tensor));
    out.text = statement_text(ir_.axes, ir_.tensors, out);
    ir_.statements.push_back(std::move(out));
    return hoisted_[key] = ir_.statements.back().target;
  }

  std::string fresh_name() {
    const std::string& target = ir_.tensors[static_cast<std::size_t>(from_.target)].name;
    for (;; ++next_name_) {
      const std::string name = emitted_name(fmt::format("{}_r{}", target, next_name_));
      const auto same = [&](const auto& named) { return named.name == name; };
      if (std::none_of(ir_.tensors.begin(), ir_.tensors.end(), same) && std::none_of(ir_.axes.begin(), ir_.axes.end(), same)) return name;
    }
  }

  tensor_ir& ir_;
  const statement& from_;
  std::map<std::string, int> hoisted_;
  int next_name_ = 0;
};

/// Does any position add a free and a bound variable?
bool slides(const statement& s, const expression& reduce) {
  for (const int id : loads_of(s, reduce.arguments[0])) {
    for (const index_expression& position : s.nodes[static_cast<std::size_t>(id)].indices) {
      if (!position.is_affine) continue;
      bool free = false, bound = false;
      for (const affine_term& term : position.terms)
        if (term.index >= 0) (s.variables[static_cast<std::size_t>(term.index)].free ? free : bound) = true;
      if (free && bound) return true;
    }
  }
  return false;
}

/// Whole indices, and literals: of a part of a tensor that lies at a fixed place.
bool all_loads_sole(const statement& s, int node) {
  const std::vector<int> loads = loads_of(s, node);
  return std::all_of(loads.begin(), loads.end(), [&](int id) {
    const std::vector<index_expression>& indices = s.nodes[static_cast<std::size_t>(id)].indices;
    return std::all_of(indices.begin(), indices.end(), [](const index_expression& position) {
      return sole_index(position) >= 0 || (position.is_affine && position.terms.empty());
    });
  });
}

bool is_contraction(const statement& s, const expression& reduce) {
  if (reduce.reducer != reduction::sum || !all_loads_sole(s, reduce.arguments[0])) return false;
  const std::vector<int> factors = factors_of(s, reduce.arguments[0]);
  std::vector<std::set<int>> free;  // of the factors that vary along a bound variable; the others are scales
  for (const int factor : factors) {
    std::set<int> used = variables_of(s, factor);
    const bool summed = std::any_of(reduce.bound.begin(), reduce.bound.end(), [&](int id) { return used.contains(id); });
    std::erase_if(used, [&](int id) { return !s.variables[static_cast<std::size_t>(id)].free; });
    if (summed) free.push_back(std::move(used));
  }
  // Two factors that vary over different free indices. One of them may vary over no index of its own (GEMV).
  for (const std::set<int>& a : free)
    for (const std::set<int>& b : free)
      if (a != b) return true;
  return false;
}

op_class classify(const statement& s) {
  const expression& root = s.nodes[static_cast<std::size_t>(s.root)];
  if (root.kind == expression_kind::scan) return op_class::scan;
  if (root.kind != expression_kind::reduce) return op_class::map;
  if (slides(s, root)) return op_class::window;
  return is_contraction(s, root) ? op_class::contraction : op_class::reduction;
}

}  // namespace

std::vector<int> tensor_ir::consumers(int tensor) const {
  std::vector<int> found;
  for (std::size_t i = 0; i < statements.size(); ++i) {
    const statement& s = statements[i];
    const bool reads = std::any_of(s.nodes.begin(), s.nodes.end(),
                                   [&](const expression& e) { return e.kind == expression_kind::load && e.symbol == tensor; });
    if (reads) found.push_back(static_cast<int>(i));
  }
  return found;
}

int tensor_ir::producer(int tensor) const {
  for (std::size_t i = 0; i < statements.size(); ++i)
    if (statements[i].target == tensor) return static_cast<int>(i);
  return -1;
}

result<tensor_ir> lower(const problem& p) {
  if (p.statements.empty()) {
    return fail(fault::bad_request,
                fmt::format("{}: the rules synthesizer needs a [definition]; this problem has only a reference implementation; "
                            "add a definition, or give a seed kernel with KS_PARAMs to tune",
                            p.name));
  }
  tensor_ir named;
  named.axes = p.axes;
  named.tensors = p.tensors;
  named.statements = p.statements;
  make_names_safe(named);

  tensor_ir ir;
  ir.axes = named.axes;
  ir.tensors = named.tensors;
  ir.workloads = p.workloads;
  for (const statement& s : named.statements) hoister(ir, s).run();
  split_dimensions(ir);
  for (const statement& s : ir.statements) ir.classes.push_back(classify(s));
  return ir;
}

}  // namespace kernsmith::agents
