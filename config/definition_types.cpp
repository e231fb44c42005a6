// Which arithmetic a value lives in, and the dtype an undeclared intermediate takes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/expression_resolver.hpp"
#include "config/refusal.hpp"

namespace kernsmith {

namespace {

value_class join(const std::vector<value_class>& operands) {
  const bool real = std::find(operands.begin(), operands.end(), value_class::real) != operands.end();
  return real ? value_class::real : value_class::integer;
}

void require_condition(value_class type, source_place place, const char* what) {
  if (type == value_class::real) refuse(place, fmt::format("{} takes a condition, not a real value; compare it, as in x != 0", what));
}

/// The narrowest type that holds both: f16 with bf16, or two kinds of 8-bit floats, meet one size up.
dtype wider(dtype a, dtype b) {
  if (a == b) return a;
  if (is_float(a) != is_float(b)) return is_float(a) ? a : b;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  if (is_float(a)) return size_of(a) == 2 ? dtype::f32 : dtype::f16;
  if (a == dtype::boolean) return b;
  if (b == dtype::boolean) return a;
  return dtype::i16;  // i8 with u8
}

/// What the expression reads, or nothing when it is made of literals.
std::optional<dtype> widest_read(const problem& p, const statement& s, int node) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  switch (e.kind) {
    case expression_kind::number:
      return std::nullopt;
    case expression_kind::index:
    case expression_kind::axis:
      return dtype::i64;
    case expression_kind::load:
      return p.tensors[static_cast<std::size_t>(e.symbol)].type;
    case expression_kind::cast:
      return e.cast_to;
    case expression_kind::reduce:
      if (e.reducer == reduction::argmax || e.reducer == reduction::argmin) return dtype::i64;
      break;
    case expression_kind::call:
    case expression_kind::scan:
      break;
  }
  std::optional<dtype> widest;
  for (const int argument : e.arguments) {
    const auto read = widest_read(p, s, argument);
    if (read) widest = widest ? wider(*widest, *read) : read;
  }
  return widest;
}

}  // namespace

value_class class_of_dtype(dtype type) {
  if (is_float(type)) return value_class::real;
  return type == dtype::boolean ? value_class::boolean : value_class::integer;
}

value_class class_of_operation(operation op, const std::vector<value_class>& operands, source_place place) {
  switch (op) {
    case operation::add:
    case operation::subtract:
    case operation::multiply:
    case operation::negate:
    case operation::minimum:
    case operation::maximum:
    case operation::absolute:
      return join(operands);
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
    case operation::equal:
    case operation::not_equal:
      return value_class::boolean;
    case operation::logical_and:
    case operation::logical_or:
      for (const value_class operand : operands) require_condition(operand, place, op == operation::logical_and ? "'and'" : "'or'");
      return value_class::boolean;
    case operation::logical_not:
      require_condition(operands[0], place, "'not'");
      return value_class::boolean;
    case operation::select:
      require_condition(operands[0], place, "the first argument of 'select'");
      if (operands[1] == value_class::boolean && operands[2] == value_class::boolean) return value_class::boolean;
      return join({operands[1], operands[2]});
    default:
      return value_class::real;  // '/', and every function of analysis
  }
}

dtype inferred_dtype(const problem& p, const statement& s) {
  const value_class type = s.nodes[static_cast<std::size_t>(s.root)].type;
  if (type == value_class::boolean) return dtype::boolean;
  const auto read = widest_read(p, s, s.root);
  if (type == value_class::integer) return read && *read == dtype::i64 ? dtype::i64 : dtype::i32;
  const dtype widest = read && is_float(*read) ? *read : dtype::f32;
  return size_of(widest) < size_of(p.precision.lowest) ? p.precision.lowest : widest;
}

}  // namespace kernsmith
