// C text of a definition's expressions, for the naive baseline of targets whose language is C. Types and dependences are those that the
// naive C++ baseline has, so that both compute the same thing.
#pragma once

#include <string>

#include "backends/cpp/expression_text.hpp"

namespace kernsmith::external {

/// Element type as stored; floats that C lacks are bit patterns.
[[nodiscard]] std::string c_storage_type(dtype type);
[[nodiscard]] std::string c_type(cpp::value_type type);
[[nodiscard]] std::string c_extent(const problem& p, const dim& d);
/// Type in which an intermediate lives between statements.
[[nodiscard]] std::string c_intermediate_type(const tensor_declaration& tensor);

class c_expression {
 public:
  c_expression(const problem& p, const statement& s) : p_(p), s_(s), facts_(p, s, cpp::arithmetic::native) {}

  /// What is known of the nodes beside their text.
  [[nodiscard]] const cpp::expression_text& facts() const { return facts_; }
  /// Text of a node's value. Every reduction and scan in it must be bound.
  [[nodiscard]] std::string value(int node, const cpp::bindings& b) const;
  [[nodiscard]] std::string value_as(int node, cpp::value_type type, const cpp::bindings& b) const;
  /// `target[...] = value;`
  [[nodiscard]] std::string store(const cpp::bindings& b) const;
  [[nodiscard]] std::string identity(int node) const;
  [[nodiscard]] std::string combine(int node, const std::string& so_far, const std::string& next) const;

 private:
  [[nodiscard]] std::string load(int node, const cpp::bindings& b) const;
  [[nodiscard]] std::string position(const index_expression& index, const cpp::bindings& b) const;
  [[nodiscard]] std::string call(int node, const cpp::bindings& b) const;
  [[nodiscard]] std::string cast(int node, const cpp::bindings& b) const;

  const problem& p_;
  const statement& s_;
  cpp::expression_text facts_;
};

}  // namespace kernsmith::external
