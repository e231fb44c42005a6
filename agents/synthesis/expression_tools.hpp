// Questions that every grammar asks about the expressions of a statement.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::agents {

/// Ids of the nodes under `node` (itself included), children before parents; gathers' index expressions too.
[[nodiscard]] std::vector<int> subtree(const statement& s, int node);
/// Index variables that the value of `node` depends on: those used below it that aren't bound below it. A scan's variable counts as used.
[[nodiscard]] std::set<int> variables_of(const statement& s, int node);
/// Load nodes under `node`.
[[nodiscard]] std::vector<int> loads_of(const statement& s, int node);
/// Factors of a product: `a * b * (c + d)` gives three nodes. Casts are not looked through.
[[nodiscard]] std::vector<int> factors_of(const statement& s, int node);
/// Equal text means equal value (same tensors, variables by name, operations).
[[nodiscard]] std::string expression_key(const statement& s, int node);
/// The definition's text of an expression, e.g. "exp(x[b,n] - m[b])": for comments in emitted sources.
[[nodiscard]] std::string expression_text(const std::vector<axis>& axes, const std::vector<tensor_declaration>& tensors, const statement& s,
                                          int node);
/// "y[b,n] = e[b,n] / s[b]"
[[nodiscard]] std::string statement_text(const std::vector<axis>& axes, const std::vector<tensor_declaration>& tensors, const statement& s);
/// Smallest and largest value that an integer expression can take whatever the inputs and axes, or nothing when int64 may be needed.
struct integer_range {
  std::int64_t low = 0, high = 0;
};
[[nodiscard]] std::optional<integer_range> range_of(const std::vector<tensor_declaration>& tensors, const statement& s, int node);
/// Does arithmetic under `node` involve a double: an f64 load or a cast to f64?
[[nodiscard]] bool involves_f64(const std::vector<tensor_declaration>& tensors, const statement& s, int node);

}  // namespace kernsmith::agents
