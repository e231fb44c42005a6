// C++ text of a definition's expressions, for the generated reference (float64 / int64) and the naive baseline (native types).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::cpp {

enum class arithmetic : std::uint8_t {
  wide,    ///< double and int64_t throughout
  native,  ///< float (double where an operand is f64), int64_t for integers
};

/// C++ type of a value.
enum class value_type : std::uint8_t { f32, f64, i64, boolean };

/// Set of a statement's index variables, one bit each.
using variable_set = std::uint64_t;
inline constexpr std::size_t max_variables_per_statement = 64;

/// Names of the index variables in force, and of reductions and scans whose value already stands in a C++ variable (empty: not yet).
struct bindings {
  std::vector<std::string> variables;  ///< parallel to statement::variables
  std::vector<std::string> nodes;      ///< parallel to statement::nodes
};

[[nodiscard]] std::string extent_text(const problem& p, const dim& d);
[[nodiscard]] std::string tensor_name(const problem& p, int tensor);
/// Element type as stored: `float`, `uint16_t` (bf16), `_Float16`, ...
[[nodiscard]] std::string storage_type(dtype type);
[[nodiscard]] std::string type_text(value_type type);
/// Type in which an intermediate lives between statements.
[[nodiscard]] std::string intermediate_type(const tensor_declaration& tensor, arithmetic mode);

class expression_text {
 public:
  expression_text(const problem& p, const statement& s, arithmetic mode);

  /// Text of a node's value. Every reduction and scan in it must be bound.
  [[nodiscard]] std::string value(int node, const bindings& b) const;
  /// The same, converted to `type`.
  [[nodiscard]] std::string value_as(int node, value_type type, const bindings& b) const;
  [[nodiscard]] value_type type_of(int node) const { return types_[static_cast<std::size_t>(node)]; }
  /// Variables that a node's value depends on (bound ones of its own reductions excluded).
  [[nodiscard]] variable_set depends_on(int node) const { return depends_[static_cast<std::size_t>(node)]; }
  /// Reductions and scans at or under a node, children first.
  [[nodiscard]] std::vector<int> reductions_under(int node) const;
  /// `target[...] = value` of the whole statement.
  [[nodiscard]] std::string store(const bindings& b) const;
  /// Linear index of the statement's target element.
  [[nodiscard]] std::string target_index(const bindings& b) const;

  /// Starting value, combination and type of a reduction or scan (all kinds but argmax and argmin).
  [[nodiscard]] std::string identity(int node) const;
  [[nodiscard]] std::string combine(int node, const std::string& so_far, const std::string& next) const;
  [[nodiscard]] value_type accumulator_type(int node) const { return type_of(node); }

 private:
  [[nodiscard]] std::string load(const expression& e, const bindings& b) const;
  [[nodiscard]] std::string position(const index_expression& index, const bindings& b) const;
  [[nodiscard]] std::string call(int node, const bindings& b) const;
  [[nodiscard]] std::string cast(const expression& e, const bindings& b) const;
  [[nodiscard]] value_type infer(const expression& e) const;

  const problem& p_;
  const statement& s_;
  arithmetic mode_;
  std::vector<value_type> types_;
  std::vector<variable_set> depends_;
};

}  // namespace kernsmith::cpp
