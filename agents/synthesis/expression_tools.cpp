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

/// Names of the index variables of a key: a bound one is called by the order of its binding, so that sum(i: x[i]) is sum(j: x[j]).
using key_names = std::map<int, std::string>;

std::string key_of(const statement& s, int node, key_names& names);

std::string variable_key(const statement& s, int id, const key_names& names) {
  const auto bound = names.find(id);
  return bound != names.end() ? bound->second : s.variables[static_cast<std::size_t>(id)].name;
}

std::string position_key(const statement& s, const index_expression& position, key_names& names) {
  if (!position.is_affine) return "@" + key_of(s, position.gather, names);
  std::vector<std::string> terms;
  for (const affine_term& term : position.terms) {
    std::string key = std::to_string(term.coefficient);
    for (const int a : term.axes) key += fmt::format("*a{}", a);
    if (term.index >= 0) key += "*" + variable_key(s, term.index, names);
    terms.push_back(std::move(key));
  }
  std::sort(terms.begin(), terms.end());
  return fmt::format("{}+{}", position.constant, fmt::join(terms, "+"));
}

std::string key_of(const statement& s, int node, key_names& names) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  std::string key = fmt::format("({}", static_cast<int>(e.kind));
  switch (e.kind) {
    case expression_kind::number:
      key += fmt::format(" {} {:a} {}", static_cast<int>(e.type), e.number, e.integer);
      break;
    case expression_kind::index:
      key += " " + variable_key(s, e.symbol, names);
      break;
    case expression_kind::axis:
      key += fmt::format(" {}", e.symbol);
      break;
    case expression_kind::load:
      key += fmt::format(" t{}", e.symbol);
      for (const index_expression& position : e.indices) key += "[" + position_key(s, position, names) + "]";
      break;
    case expression_kind::call:
      key += fmt::format(" {}", static_cast<int>(e.op));
      break;
    case expression_kind::cast:
      key += fmt::format(" {}", static_cast<int>(e.cast_to));
      break;
    case expression_kind::scan:
      key += fmt::format(" {} {}", static_cast<int>(e.reducer), variable_key(s, e.bound[0], names));
      break;
    case expression_kind::reduce:
      key += fmt::format(" {}", static_cast<int>(e.reducer));
      for (const int id : e.bound) {
        names[id] = fmt::format("#{}", names.size());
        const dim& extent = s.variables[static_cast<std::size_t>(id)].extent;
        key += fmt::format(" {}<{},{}", names[id], extent.axis, extent.constant);
      }
      break;
  }
  for (const int argument : e.arguments) key += " " + key_of(s, argument, names);
  if (e.kind == expression_kind::reduce)
    for (const int id : e.bound) names.erase(id);
  return key + ")";
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
  key_names names;
  return key_of(s, node, names);
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
