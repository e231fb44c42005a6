// Writes the values of a row program as C++ expressions: scalars (double, int64_t, bool) and lanes (real, whole, masks; see
// row_grammar_support.hpp).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agents/synthesis/row_grammar_plan.hpp"

namespace kernsmith::agents::row {

/// A place that lines are written to, with its indentation.
class text_block {
 public:
  explicit text_block(int depth = 0) : depth_(depth) {}
  /// Appends one line (or several separated by newlines) at the block's depth plus `deeper`.
  void line(const std::string& text, int deeper = 0);
  void append(const text_block& other) { text_ += other.text_; }
  void append(const std::string& raw) { text_ += raw; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] int depth() const { return depth_; }

 private:
  int depth_;
  std::string text_;
};

/// Where lane code is being written: loop-invariant scalars are spread over lanes in `hoisted`, the rest goes to `body`.
struct lane_scope {
  text_block* before = nullptr;  ///< lanes::across: lines ahead of the sweep's loops
  text_block* hoisted = nullptr;
  text_block* body = nullptr;
  int lane = -1;                             ///< the class along which lanes lie, or -1 when nothing depends on a lane
  const sweep* within = nullptr;             ///< the sweep being written, or null between sweeps
  std::map<std::string, std::string> known;  ///< expression text -> name of the constant that holds it
  std::map<int, std::string> values;         ///< statement -> name of its value in this step
};

/// How a name is spelt where an index has another name than usual.
using index_names = std::map<int, std::string>;

/// "0.5", "1e-06", "INFINITY": a double literal.
[[nodiscard]] std::string real_literal(double value);

class expression_writer {
 public:
  expression_writer(const row_program& p, const plan& chosen) : p_(p), plan_(chosen) {}

  /// A double, int64_t or bool expression, without side effects. Indices are called by their class names, or as `names` says.
  [[nodiscard]] std::string scalar(const row_statement& s, int node, value_class want, const index_names& names = {});
  /// A real, whole or mask expression in the scope.
  [[nodiscard]] std::string vector(const row_statement& s, int node, value_class want, lane_scope& scope);
  /// The value of a point statement in the scope.
  [[nodiscard]] std::string point_value(int statement, lane_scope& scope);
  /// Evaluates a map, nested reduction or buffered value in the scope (once) and returns its name.
  std::string value_of(int statement, lane_scope& scope);

  /// "x + ((b * N + n))": the address of an element.
  [[nodiscard]] std::string address(const row_statement& s, const expression& load, const index_names& names = {});
  [[nodiscard]] std::string target_address(const row_statement& s, const index_names& names = {}) const;
  [[nodiscard]] std::string buffer_address(int statement, const lane_scope& scope) const;
  [[nodiscard]] std::string extent_text(const extent& e) const;
  [[nodiscard]] std::string class_extent(int index) const { return extent_text(p_.classes[static_cast<std::size_t>(index)].size); }
  [[nodiscard]] const std::string& class_name(int index) const { return p_.classes[static_cast<std::size_t>(index)].name; }
  [[nodiscard]] std::string tensor_name(int tensor) const;
  /// What the names of values derived from a tensor begin with.
  [[nodiscard]] std::string stem(int tensor) const;
  [[nodiscard]] std::string axis_name(int axis) const;
  /// Name of the value of a statement: "m_row" for a scalar per row, "e_v" in lanes.
  [[nodiscard]] std::string value_name(const row_statement& s) const;
  /// Is the row value of this point or reduce statement spread over lanes (an element of an array of vectors)?
  [[nodiscard]] bool in_lanes(const row_statement& s) const;

  /// Text that puts lanes of class `from` into class `want`.
  [[nodiscard]] static std::string convert_lanes(const std::string& text, value_class from, value_class want);
  [[nodiscard]] static std::string convert_scalar(const std::string& text, value_class from, value_class want);
  /// The class of values that a tensor of this dtype holds.
  [[nodiscard]] static value_class class_of(dtype type);

  /// What readers of an intermediate with a declared dtype see of a value.
  [[nodiscard]] std::string rounded_scalar(const row_statement& s, const std::string& text) const;
  [[nodiscard]] std::string rounded_to_tensor(const row_statement& s, const std::string& text, value_class type) const;
  [[nodiscard]] std::string fresh(const std::string& base);

  /// Prelude pieces that the written code needs.
  std::set<std::string> preludes;

 private:
  struct position {
    std::string offset;                   ///< linear
    std::vector<std::string> conditions;  ///< for padded tensors
  };
  position locate(const row_statement& s, const expression& load, const index_names& names);
  std::string affine(const index_expression& index, const index_names& names) const;
  std::string name_of(int index, const index_names& names) const;
  std::string scalar_load(const row_statement& s, const expression& e, const index_names& names);
  std::string scalar_call(const row_statement& s, const expression& e, const index_names& names);
  std::string scalar_reference(int statement, const index_names& names);
  std::string vector_load(const row_statement& s, const expression& e, lane_scope& scope);
  [[nodiscard]] bool is_tile(const expression& e, const lane_scope& scope) const;
  std::string tile_load(const row_statement& s, const expression& e, const std::string& otherwise, lane_scope& scope);
  std::string padded_load(const row_statement& s, const expression& e, lane_scope& scope);
  std::string vector_call(const row_statement& s, const expression& e, lane_scope& scope);
  std::string vector_divide(const row_statement& s, const expression& e, lane_scope& scope);
  std::string vector_cast(const row_statement& s, const expression& e, lane_scope& scope);
  std::string nested(int statement, lane_scope& scope);
  std::string spread(const std::string& scalar_text, value_class type, lane_scope& scope, int source_tensor = -1);
  std::string hold(const std::string& text, value_class type, const std::string& base, lane_scope& scope);

  const row_program& p_;
  const plan& plan_;
  std::map<std::string, int> counters_;
};

}  // namespace kernsmith::agents::row
