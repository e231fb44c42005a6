// Expressions of the IR as scalar C, element by element: the floor under the vector grammars, and what they compute per row.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agents/synthesis/ir.hpp"

namespace kernsmith::agents::vector_c {

/// Element type as stored; floats that C lacks are bit patterns.
[[nodiscard]] std::string c_storage_type(dtype type);
/// "N" or "64".
[[nodiscard]] std::string c_extent(const tensor_ir& ir, const dim& d);

/// What differs between C and OpenCL C: functions of the latter are overloaded.
enum class c_dialect : std::uint8_t { c17, opencl };

struct c_spelling {
  c_dialect dialect = c_dialect::c17;
  bool wide = false;  ///< real arithmetic in double even where the statement doesn't ask for it
};

class c_scalar {
 public:
  /// `at_hand`: text of a node whose value stands in a variable already; nothing: as usual.
  c_scalar(const tensor_ir& ir, const statement& s, std::function<std::optional<std::string>(int node)> at_hand = {},
           c_spelling spelling = {});

  /// "float" or "double", "int64_t".
  [[nodiscard]] std::string type_text(value_class type) const;
  [[nodiscard]] std::string value(int node, value_class type) const;
  /// Position of a load node or of the target in its tensor, row-major; `skipped` stands for 0.
  [[nodiscard]] std::string linear_index(int node, int skipped = -1) const;
  [[nodiscard]] std::string target_index(int skipped = -1) const;
  /// A value of the given class as an element of the target, of type c_storage_type().
  [[nodiscard]] std::string to_storage(const std::string& value, value_class type) const;
  /// `target[...] = value;` for a value of the given class.
  [[nodiscard]] std::string store(const std::string& value, value_class type) const;
  [[nodiscard]] const std::string& index_name(int variable) const { return s_.variables[static_cast<std::size_t>(variable)].name; }
  /// "larger" and "smaller" of the prelude, for reals or integers of this statement.
  [[nodiscard]] std::string extremum(bool larger, value_class type) const;

 private:
  [[nodiscard]] std::string own_value(int node) const;
  [[nodiscard]] std::string load(int node) const;
  [[nodiscard]] std::string call(const expression& e) const;
  [[nodiscard]] std::string cast(const expression& e) const;
  [[nodiscard]] std::string position(const index_expression& index, int skipped) const;
  [[nodiscard]] std::string number(double value) const;
  [[nodiscard]] std::string widened(const std::string& value) const;
  [[nodiscard]] const char* suffix() const { return wide_ || spelling_.dialect == c_dialect::opencl ? "" : "f"; }
  [[nodiscard]] std::string function_of(operation op) const;

  const tensor_ir& ir_;
  const statement& s_;
  std::function<std::optional<std::string>(int)> at_hand_;
  c_spelling spelling_;
  bool wide_;
};

}  // namespace kernsmith::agents::vector_c
