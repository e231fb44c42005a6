// Statements of a fusion group as one set of expression trees over shared loop variables, every load a linear form, and their C++ text,
// scalar or in lanes. Shared by the contraction and the window grammar.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agents/synthesis/group_grammar.hpp"

namespace kernsmith::agents::nest {

/// Sum of coefficient * product(axes): extents, strides and offsets as far as they are known before a workload is. No zero coefficients.
struct polynomial {
  std::map<std::vector<int>, std::int64_t> terms;

  [[nodiscard]] static polynomial constant(std::int64_t value);
  [[nodiscard]] static polynomial of(const dim& extent);
  [[nodiscard]] bool is_zero() const { return terms.empty(); }
  [[nodiscard]] std::optional<std::int64_t> as_constant() const;
  [[nodiscard]] std::int64_t value(const std::vector<std::int64_t>& axes) const;
  /// "t.N * t.K + 3"; atoms and single products need no parentheses, sums get them.
  [[nodiscard]] std::string text(const tensor_ir& ir) const;
  friend bool operator==(const polynomial&, const polynomial&) = default;
};
[[nodiscard]] polynomial operator+(const polynomial& a, const polynomial& b);
[[nodiscard]] polynomial operator*(const polynomial& a, const polynomial& b);

struct loop_variable {
  std::string name;  ///< as the user wrote it; merged variables join theirs with '_'
  polynomial extent;
};

/// Element `offset + sum(stride[v] * v)` of a tensor.
struct linear_form {
  int tensor = -1;
  polynomial offset;
  std::map<int, polynomial> strides;  ///< by loop variable; zero strides are left out
  [[nodiscard]] polynomial stride(int variable) const;
};

/// A dimension of a padded load that may fall outside: position `offset + sum(stride[v] * v)`, inside when in [0, extent).
struct guard {
  polynomial offset;
  std::map<int, polynomial> strides;
  polynomial extent;
};

enum class node_kind : std::uint8_t { number, variable, axis, load, value, call, cast };

struct node {
  node_kind kind = node_kind::number;
  value_class type = value_class::real;
  operation op = operation::add;
  dtype cast_to = dtype::f32;
  double number = 0;
  std::int64_t integer = 0;
  int symbol = -1;  ///< variable, axis, or id of a value computed earlier in the nest
  std::vector<int> arguments;
  linear_form where;           ///< loads
  std::vector<guard> guards;   ///< padded loads: all must hold, else the value is `number`
  std::vector<guard> windows;  ///< loads: dimensions that several variables walk together ("2 * p + r")
};

/// A tensor that is computed inside the nest, as later statements may read it.
struct inner_tensor {
  int value = -1;  ///< named value, or -1: inlined from `producer`
  const statement* producer = nullptr;
  std::vector<int> variables;  ///< loop variable of each dimension (named values)
};

struct program {
  const tensor_ir* ir = nullptr;
  std::vector<loop_variable> variables;
  std::vector<node> nodes;
  std::map<int, inner_tensor> inner;  ///< by tensor
  bool allow_pad = false;             ///< loads of padded tensors may fall outside

  /// Adds `id` of `s` with its variables renamed by `rename` (statement variable -> loop variable, -1: none). Nothing when the nest can't
  /// hold it: gathers, loads that may need padding, reductions, inner tensors read anywhere but at the current element.
  [[nodiscard]] std::optional<int> import(const statement& s, int id, const std::vector<int>& rename);
  [[nodiscard]] int add(node n);
  [[nodiscard]] int multiply(int a, int b);
  [[nodiscard]] int cast(int argument, dtype to);
  /// Where a load stands in dimension d.
  [[nodiscard]] guard position_in(std::size_t d, const expression& load, const std::vector<int>& rename) const;
  /// The dimensions of a padded load that may fall outside.
  [[nodiscard]] std::vector<guard> guards_of(const statement& s, const expression& load, const std::vector<int>& rename) const;
  /// Linear form of an element of `tensor` at affine positions.
  [[nodiscard]] std::optional<linear_form> locate(int tensor, const std::vector<index_expression>& positions,
                                                  const std::vector<int>& rename) const;
  /// Variables that the tree depends on.
  [[nodiscard]] std::set<int> used(int root) const;
  /// Is the value of `variable` itself (not only as an index) part of any tree?
  [[nodiscard]] bool counts(int variable) const;
  [[nodiscard]] bool reads_f64(int root) const;
  /// Replaces two loop variables by one over both; legal when every form in `forms` and every load allows it.
  [[nodiscard]] bool mergeable(int outer, int inner, const std::vector<linear_form>& forms) const;
  void merge(int outer, int inner, std::vector<linear_form>& forms);
};

/// Can the tree be computed in lanes along `variable` (-1: the same value in all lanes)?
[[nodiscard]] bool vectorisable(const program& p, int root, int variable);
/// ... with every load contiguous along `variable` or independent of it?
[[nodiscard]] bool contiguous(const program& p, int root, int variable);

/// How trees become text. Emitted names: `t.<tensor>`, `t.<axis>`, `read(pointer, lanes)`, `read_strided(pointer, stride, lanes)`,
/// `splat(x)`.
struct emission {
  const program* p = nullptr;
  bool wide = false;  ///< arithmetic in double instead of float
  bool vector = false;
  int lane = -1;                            ///< loop variable along the lanes
  bool lanes_inside = false;                ///< padded loads are known to fall inside along the lanes
  std::vector<std::string> variable_names;  ///< C++ of each loop variable
  std::map<int, std::string> values;        ///< C++ of named values
  std::set<std::string> preludes;           ///< grows with what the text needs

  [[nodiscard]] std::string real(int id);
  [[nodiscard]] std::string address(const linear_form& where);
  [[nodiscard]] std::string position(const guard& g) const;
  /// A number as a literal of the nest's arithmetic.
  [[nodiscard]] std::string number(double value) const { return literal(value); }

 private:
  std::string any(int id);
  std::string truth(int id);
  std::string integer(int id);
  std::string call_text(const node& n);
  std::string load_text(const node& n);
  std::string guarded(const node& n, const std::string& load);
  std::string cast_text(const node& n);
  std::string literal(double value) const;

 public:
  [[nodiscard]] std::string element(int id) { return any(id); }  ///< in its own class: float or vec, int64_t, bool
};

/// Name of the prelude piece of an operation, or "".
[[nodiscard]] std::string prelude_piece(operation op);

}  // namespace kernsmith::agents::nest
