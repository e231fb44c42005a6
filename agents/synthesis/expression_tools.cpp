#include "agents/synthesis/expression_tools.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kernsmith::agents {
namespace {

void collect(const statement& s, int node, std::vector<bool>& seen, std::vector<int>& out) {
  const auto at = static_cast<std::size_t>(node);
  if (seen[at]) return;
  seen[at] = true;
  const expression& e = s.nodes[at];
  for (const int argument : e.arguments) collect(s, argument, seen, out);
  for (const index_expression& position : e.indices)
    if (!position.is_affine) collect(s, position.gather, seen, out);
  out.push_back(node);
}

void add_index_variables(const expression& e, std::set<int>& used) {
  if (e.kind == expression_kind::index) used.insert(e.symbol);
  for (const index_expression& position : e.indices)
    for (const affine_term& term : position.terms)
      if (term.index >= 0) used.insert(term.index);
}

std::string position_key(const statement& s, const index_expression& position) {
  if (!position.is_affine) return "@" + expression_key(s, position.gather);
  std::string key = std::to_string(position.constant);
  for (const affine_term& term : position.terms) {
    key += fmt::format("+{}", term.coefficient);
    for (const int a : term.axes) key += fmt::format("*a{}", a);
    if (term.index >= 0) key += "*" + s.variables[static_cast<std::size_t>(term.index)].name;
  }
  return key;
}

}  // namespace

std::vector<int> subtree(const statement& s, int node) {
  std::vector<bool> seen(s.nodes.size(), false);
  std::vector<int> out;
  collect(s, node, seen, out);
  return out;
}

std::set<int> variables_of(const statement& s, int node) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  std::set<int> used;
  add_index_variables(e, used);
  for (const int argument : e.arguments) used.merge(variables_of(s, argument));
  for (const index_expression& position : e.indices)
    if (!position.is_affine) used.merge(variables_of(s, position.gather));
  if (e.kind == expression_kind::reduce)
    for (const int variable : e.bound) used.erase(variable);
  if (e.kind == expression_kind::scan) used.insert(e.bound.begin(), e.bound.end());
  return used;
}

std::vector<int> loads_of(const statement& s, int node) {
  std::vector<int> loads;
  for (const int id : subtree(s, node))
    if (s.nodes[static_cast<std::size_t>(id)].kind == expression_kind::load) loads.push_back(id);
  return loads;
}

std::vector<int> factors_of(const statement& s, int node) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  if (e.kind != expression_kind::call || e.op != operation::multiply) return {node};
  std::vector<int> factors;
  for (const int argument : e.arguments) {
    const std::vector<int> inner = factors_of(s, argument);
    factors.insert(factors.end(), inner.begin(), inner.end());
  }
  return factors;
}

std::string expression_key(const statement& s, int node) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  std::string key = fmt::format("({}", static_cast<int>(e.kind));
  switch (e.kind) {
    case expression_kind::number:
      key += fmt::format(" {} {:a} {}", static_cast<int>(e.type), e.number, e.integer);
      break;
    case expression_kind::index:
      key += " " + s.variables[static_cast<std::size_t>(e.symbol)].name;
      break;
    case expression_kind::axis:
      key += fmt::format(" {}", e.symbol);
      break;
    case expression_kind::load:
      key += fmt::format(" t{}", e.symbol);
      for (const index_expression& position : e.indices) key += "[" + position_key(s, position) + "]";
      break;
    case expression_kind::call:
      key += fmt::format(" {}", static_cast<int>(e.op));
      break;
    case expression_kind::cast:
      key += fmt::format(" {}", static_cast<int>(e.cast_to));
      break;
    case expression_kind::reduce:
    case expression_kind::scan:
      key += fmt::format(" {}", static_cast<int>(e.reducer));
      for (const int id : e.bound) {
        const index_variable& variable = s.variables[static_cast<std::size_t>(id)];
        key += fmt::format(" {}<{},{}", variable.name, variable.extent.axis, variable.extent.constant);
      }
      break;
  }
  for (const int argument : e.arguments) key += " " + expression_key(s, argument);
  return key + ")";
}

int copy_expression(const statement& from, int node, statement& to, std::map<int, int>& variables) {
  const auto variable = [&](int id) {
    const auto [at, added] = variables.try_emplace(id, static_cast<int>(to.variables.size()));
    if (added) {
      to.variables.push_back(from.variables[static_cast<std::size_t>(id)]);
      to.variables.back().free = false;
    }
    return at->second;
  };
  expression e = from.nodes[static_cast<std::size_t>(node)];
  for (int& argument : e.arguments) argument = copy_expression(from, argument, to, variables);
  for (index_expression& position : e.indices) {
    if (!position.is_affine) position.gather = copy_expression(from, position.gather, to, variables);
    for (affine_term& term : position.terms)
      if (term.index >= 0) term.index = variable(term.index);
    std::sort(position.terms.begin(), position.terms.end(),
              [](const affine_term& a, const affine_term& b) { return a.index != b.index ? a.index < b.index : a.axes < b.axes; });
  }
  if (e.kind == expression_kind::index) e.symbol = variable(e.symbol);
  for (int& bound : e.bound) bound = variable(bound);
  to.nodes.push_back(std::move(e));
  return static_cast<int>(to.nodes.size()) - 1;
}

bool involves_f64(const std::vector<tensor_declaration>& tensors, const statement& s, int node) {
  for (const int id : subtree(s, node)) {
    const expression& e = s.nodes[static_cast<std::size_t>(id)];
    if (e.kind == expression_kind::load && tensors[static_cast<std::size_t>(e.symbol)].type == dtype::f64) return true;
    if (e.kind == expression_kind::cast && e.cast_to == dtype::f64) return true;
  }
  return false;
}

}  // namespace kernsmith::agents
