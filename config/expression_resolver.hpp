// Resolves the right-hand side of one statement. Internal to config/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/definition_syntax.hpp"
#include "config/problem.hpp"

namespace kernsmith {

/// "variable ranges over `range` in `where`".
struct range_claim {
  int variable = -1;
  dim range;
  std::string where;
  source_place place;
};

/// What a statement may see: filled by the definition's resolver as it goes.
struct resolver_scope {
  problem& p;
  std::vector<bool> readable;                   ///< parallel to p.tensors: inputs, and what is written by now
  std::map<std::string, source_place> targets;  ///< every tensor that some statement writes
};

class expression_resolver {
 public:
  /// `out` already holds the free variables; nodes, bound variables and root are added to it.
  expression_resolver(resolver_scope& scope, const syntax_statement& syntax, statement& out) : scope_(scope), syntax_(syntax), out_(out) {}

  /// Throws refusal.
  void run(std::vector<range_claim>& claims);

 private:
  int resolve(int id);
  int number(const syntax_node& node);
  int name(const syntax_node& node);
  int operation_node(const syntax_node& node);
  int call(const syntax_node& node);
  int cast(const syntax_node& node, dtype to);
  int reduce(const syntax_node& node);
  int scan(const syntax_node& node, reduction reducer);
  int load(const syntax_node& node);
  index_expression position(int id, int tensor, std::size_t dimension);
  std::optional<index_expression> affine(int id);
  int gather(int id, int tensor, std::size_t dimension);
  int bind(const syntax_index& index);
  int add(expression node);
  [[nodiscard]] value_class class_of(int node) const { return out_.nodes[static_cast<std::size_t>(node)].type; }
  [[nodiscard]] const syntax_node& at(int id) const { return syntax_.nodes[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int find_index(const std::string& name) const;
  [[nodiscard]] int find_tensor(const std::string& name) const;
  [[nodiscard]] int find_axis(const std::string& name) const;
  [[noreturn]] void unknown_name(const syntax_node& node) const;
  [[nodiscard]] int readable_tensor(const syntax_node& node) const;

  struct binding {
    std::string name;
    int variable;
  };

  resolver_scope& scope_;
  const syntax_statement& syntax_;
  statement& out_;
  std::vector<range_claim>* claims_ = nullptr;
  std::vector<binding> bindings_;
};

/// The class in which an operation's result lives. Throws refusal when an operand doesn't fit.
[[nodiscard]] value_class class_of_operation(operation op, const std::vector<value_class>& operands, source_place place);
[[nodiscard]] value_class class_of_dtype(dtype type);
/// The dtype an undeclared intermediate takes: see problem.hpp.
[[nodiscard]] dtype inferred_dtype(const problem& p, const statement& s);
/// Sorts, merges and drops zero terms. Throws refusal on overflow.
void normalise(index_expression& e, source_place place);

}  // namespace kernsmith
