// Expressions of the IR as scalar C++, element by element: what the plain grammar computes with, and what others can fall back on.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agents/synthesis/ir.hpp"
#include "agents/synthesis/prelude.hpp"

namespace kernsmith::agents {

/// Should the statement's real arithmetic run in double: an f64 operand or target, or integers beyond 2^24 that meet reals?
[[nodiscard]] bool needs_double(const tensor_ir& ir, const statement& s);

/// "N" or "64".
[[nodiscard]] std::string extent_text(const tensor_ir& ir, const dim& d);

/// Where an emitter spells parts of an expression otherwise.
struct scalar_spelling {
  std::string (*storage)(dtype) = storage_type;  ///< names of the storage types
  bool wide = false;                             ///< real arithmetic in double even where the statement doesn't ask for it
  /// Another function for an operation in float; empty: the usual one.
  std::function<std::string_view(operation)> function;
  /// Text of a load (or other) node whose value is at hand already, of C++ type type_text() of the node's class; nothing: as usual.
  std::function<std::optional<std::string>(int node)> at_hand;
};

/// Text of nodes of one statement. Needs prelude piece "types". Index variables and tensors stand under their own names.
class scalar_expression {
 public:
  scalar_expression(const tensor_ir& ir, const statement& s, scalar_spelling spelling = {})
      : ir_(ir), s_(s), spelling_(std::move(spelling)), wide_(spelling_.wide || needs_double(ir, s)) {}

  /// "float" or "double", "int64_t", "bool".
  [[nodiscard]] std::string type_text(value_class type) const;
  /// The value of `node` as `type`.
  [[nodiscard]] std::string value(int node, value_class type) const;
  /// `tensor[...]` of the statement's target.
  [[nodiscard]] std::string target_element() const;
  /// `tensor[...]` of a load node, without regard to pads.
  [[nodiscard]] std::string load_element(int node) const;
  /// `expression` (of C++ type `from`, see type_text; "double" too) in the storage type of the target.
  [[nodiscard]] std::string to_storage(const std::string& expression, std::string_view from) const;
  [[nodiscard]] std::string index_name(int variable) const;
  [[nodiscard]] std::string extent_of_variable(int variable) const;

 private:
  struct piece;
  [[nodiscard]] piece render(int node) const;
  [[nodiscard]] piece render_as(int node, value_class type) const;
  [[nodiscard]] piece render_number(double value) const;
  [[nodiscard]] piece render_load(const expression& e) const;
  [[nodiscard]] piece render_cast(const expression& e) const;
  [[nodiscard]] piece render_call(const expression& e, int node) const;
  [[nodiscard]] piece render_integer_arithmetic(const expression& e, int node) const;
  [[nodiscard]] std::string position(const index_expression& index) const;
  [[nodiscard]] std::string linear(const tensor_declaration& tensor, const std::vector<std::string>& positions) const;
  [[nodiscard]] bool stays_inside(const index_expression& index, const dim& extent) const;

  const tensor_ir& ir_;
  const statement& s_;
  scalar_spelling spelling_;
  bool wide_;
};

}  // namespace kernsmith::agents
