// Expressions of a statement as Triton: values are tiles of up to two dimensions, or scalars, and broadcast as Triton has it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "agents/synthesis/ir.hpp"

namespace kernsmith::agents::triton {

/// Along which dimensions of the tile something varies.
using tile_axes = unsigned;
inline constexpr tile_axes along_nothing = 0, along_rows = 1, along_columns = 2;

/// An index in a kernel.
struct tile_index {
  std::string text;  ///< of type `index`
  tile_axes axes = along_nothing;
};

/// What all statements of a kernel have in common while one piece of its code is written.
struct tile {
  std::map<int, tile_index> indices;     ///< by variable
  std::array<std::string, 2> live;       ///< which rows and columns exist; empty: all do
  std::string extent = "(ROWS, BLOCK)";  ///< shape of a whole tile
  [[nodiscard]] std::string mask(tile_axes axes) const;
};

class tile_expression {
 public:
  /// `wide`: reals in double. `at_hand`: text of a load whose value is at hand already, in the class of its tensor.
  tile_expression(const tensor_ir& ir, const statement& s, bool wide, const tile& where,
                  std::function<std::optional<std::string>(int)> at_hand = {})
      : ir_(ir), s_(s), wide_(wide), tile_(where), at_hand_(std::move(at_hand)) {}

  /// The value of `node` as `type`: tl.float32 (wide: tl.float64), tl.int64, tl.int1, or a constant of Python's.
  [[nodiscard]] std::string value(int node, value_class type) const;
  /// The same, never a constant.
  [[nodiscard]] std::string named_value(int node, value_class type) const;
  /// The same, fit to have a method called.
  [[nodiscard]] std::string tensor_value(int node, value_class type) const;
  /// A load with its conversion, not looked for among what is at hand.
  [[nodiscard]] std::string loaded(int node) const;
  /// A load as it stands in memory, without conversion.
  [[nodiscard]] std::string raw_load(int node) const;
  /// `tl.store(...)` of a value to the target.
  [[nodiscard]] std::string store(const std::string& value, value_class type) const;
  /// Rounded to `to`, as a value of its class.
  [[nodiscard]] std::string rounded(const std::string& value, value_class from, dtype to) const;
  [[nodiscard]] std::string real_type() const { return wide_ ? "tl.float64" : "tl.float32"; }
  [[nodiscard]] std::string type_text(value_class type) const;

 private:
  struct piece;
  [[nodiscard]] piece render(int node) const;
  [[nodiscard]] piece render_as(int node, value_class type) const;
  [[nodiscard]] piece convert(piece p, value_class type) const;
  [[nodiscard]] piece as_tensor(piece p) const;
  [[nodiscard]] piece argument(int node, value_class type) const;
  [[nodiscard]] piece render_number(double value) const;
  [[nodiscard]] piece render_load(int node) const;
  [[nodiscard]] piece render_cast(const expression& e) const;
  [[nodiscard]] piece render_call(const expression& e) const;
  [[nodiscard]] piece render_infix(const expression& e, value_class type) const;
  [[nodiscard]] piece render_comparison(const expression& e) const;
  [[nodiscard]] piece render_power(const expression& e) const;
  [[nodiscard]] std::string widened(const std::string& value, dtype from) const;
  [[nodiscard]] std::string narrowed(const std::string& value, dtype to) const;
  [[nodiscard]] bool is_plain_index(int node) const;
  [[nodiscard]] tile_axes axes_of(int node) const;
  [[nodiscard]] std::string position(const index_expression& index) const;
  [[nodiscard]] std::string linear(const tensor_declaration& tensor, const std::vector<std::string>& positions) const;

  const tensor_ir& ir_;
  const statement& s_;
  bool wide_;
  const tile& tile_;
  std::function<std::optional<std::string>(int)> at_hand_;
};

/// "tl.float16"
[[nodiscard]] std::string triton_type(dtype type);
/// "torch.float16"
[[nodiscard]] std::string torch_type(dtype type);
/// "N" or "64".
[[nodiscard]] std::string extent_name(const tensor_ir& ir, const dim& d);
/// "float("-inf")", "0.5": a real constant.
[[nodiscard]] std::string real_constant(double value);

}  // namespace kernsmith::agents::triton
