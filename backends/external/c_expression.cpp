#include "backends/external/c_expression.hpp"

#include <fmt/format.h>

#include <cmath>

namespace kernsmith::external {

using cpp::value_type;

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

bool is_real(value_type type) {
  return type == value_type::f32 || type == value_type::f64;
}

std::string real_literal(double number, value_type type) {
  if (std::isnan(number)) return "NAN";
  if (std::isinf(number)) return number < 0 ? "(-INFINITY)" : "INFINITY";
  std::string text = fmt::format("{}", type == value_type::f32 ? static_cast<double>(static_cast<float>(number)) : number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type == value_type::f32) text += "f";
  return std::signbit(number) ? "(" + text + ")" : text;
}

std::string integer_literal(std::int64_t number) {
  if (number == INT64_MIN) return "INT64_MIN";
  return number < 0 ? fmt::format("(INT64_C({}))", number) : fmt::format("INT64_C({})", number);
}

/// Name in <math.h>, without the f of the float version.
const char* function_name(operation op) {
  switch (op) {
    case operation::absolute:
      return "fabs";
    case operation::exp:
      return "exp";
    case operation::log:
      return "log";
    case operation::log1p:
      return "log1p";
    case operation::expm1:
      return "expm1";
    case operation::sqrt:
      return "sqrt";
    case operation::pow:
      return "pow";
    case operation::tanh:
      return "tanh";
    case operation::erf:
      return "erf";
    case operation::sin:
      return "sin";
    case operation::cos:
      return "cos";
    case operation::floor:
      return "floor";
    case operation::ceil:
      return "ceil";
    case operation::round:
      return "nearbyint";
    case operation::fma:
      return "fma";
    default:
      return "";
  }
}

const char* infix(operation op) {
  switch (op) {
    case operation::add:
      return "+";
    case operation::subtract:
      return "-";
    case operation::multiply:
      return "*";
    case operation::divide:
      return "/";
    case operation::less:
      return "<";
    case operation::less_equal:
      return "<=";
    case operation::greater:
      return ">";
    case operation::greater_equal:
      return ">=";
    case operation::equal:
      return "==";
    case operation::not_equal:
      return "!=";
    case operation::logical_and:
      return "&&";
    case operation::logical_or:
      return "||";
    default:
      return "";
  }
}

/// Suffix of <math.h>'s functions and of the prelude's.
const char* math_suffix(value_type type) {
  return type == value_type::f32 ? "f" : "";
}

const char* type_suffix(value_type type) {
  return type == value_type::f32 ? "f32" : type == value_type::f64 ? "f64" : "i64";
}

std::pair<const char*, const char*> limits_of(dtype type) {
  switch (type) {
    case dtype::i32:
      return {"INT32_MIN", "INT32_MAX"};
    case dtype::i16:
      return {"INT16_MIN", "INT16_MAX"};
    case dtype::i8:
      return {"INT8_MIN", "INT8_MAX"};
    case dtype::u8:
      return {"0", "UINT8_MAX"};
    default:
      return {"INT64_MIN", "INT64_MAX"};
  }
}

std::string saturated(const std::string& real, dtype type) {
  const auto [low, high] = limits_of(type);
  return fmt::format("ks_saturated({}, {}, {})", real, low, high);
}

bool is_narrow_float(dtype type) {
  return type == dtype::f16 || type == dtype::bf16 || type == dtype::f8e4m3 || type == dtype::f8e5m2;
}

}  // namespace

std::string c_storage_type(dtype type) {
  switch (type) {
    case dtype::f64:
      return "double";
    case dtype::f32:
      return "float";
    case dtype::f16:
    case dtype::bf16:
      return "uint16_t";
    case dtype::i64:
      return "int64_t";
    case dtype::i32:
      return "int32_t";
    case dtype::i16:
      return "int16_t";
    case dtype::i8:
      return "int8_t";
    default:
      return "uint8_t";
  }
}

std::string c_type(value_type type) {
  switch (type) {
    case value_type::f32:
      return "float";
    case value_type::f64:
      return "double";
    default:
      return "int64_t";
  }
}

std::string c_extent(const problem& p, const dim& d) {
  return d.axis >= 0 ? "n_" + p.axes[at(d.axis)].name : integer_literal(d.constant);
}

std::string c_intermediate_type(const tensor_declaration& tensor) {
  if (tensor.type_declared) return c_storage_type(tensor.type);
  if (is_float(tensor.type)) return tensor.type == dtype::f64 ? "double" : "float";
  return tensor.type == dtype::boolean ? "uint8_t" : "int64_t";
}

std::string c_expression::value_as(int node, value_type type, const cpp::bindings& b) const {
  const value_type own = facts_.type_of(node);
  const expression& e = s_.nodes[at(node)];
  if (own == type) return value(node, b);
  if (e.kind == expression_kind::number && is_real(type)) return real_literal(e.number, type);
  if (type == value_type::boolean) return fmt::format("({} != 0)", value(node, b));
  if (type == value_type::i64 && own != value_type::boolean) return saturated(value(node, b), dtype::i64);
  return fmt::format("({})({})", c_type(type), value(node, b));
}

std::string c_expression::position(const index_expression& index, const cpp::bindings& b) const {
  if (!index.is_affine) return value_as(index.gather, value_type::i64, b);
  std::string text;
  for (const affine_term& term : index.terms) {
    std::string product = integer_literal(term.coefficient);
    if (term.coefficient == 1 && (!term.axes.empty() || term.index >= 0)) product.clear();
    for (const int axis : term.axes) product += (product.empty() ? "n_" : " * n_") + p_.axes[at(axis)].name;
    if (term.index >= 0) product += (product.empty() ? "" : " * ") + b.variables[at(term.index)];
    text += (text.empty() ? "" : " + ") + product;
  }
  if (text.empty()) return integer_literal(index.constant);
  if (index.constant != 0) text += " + " + integer_literal(index.constant);
  return text;
}

std::string c_expression::load(int node, const cpp::bindings& b) const {
  const expression& e = s_.nodes[at(node)];
  const tensor_declaration& tensor = p_.tensors[at(e.symbol)];
  std::string index, check;
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    const std::string extent = c_extent(p_, tensor.shape[d]), where = position(e.indices[d], b);
    index = index.empty() ? where : fmt::format("({}) * {} + ({})", index, extent, where);
    const int sole = sole_index(e.indices[d]);
    const bool always_inside = sole >= 0 && s_.variables[at(sole)].extent == tensor.shape[d];
    if (tensor.pad && !always_inside) check += fmt::format("{}ks_inside({}, {})", check.empty() ? "" : " && ", where, extent);
  }
  std::string text = fmt::format("{}[{}]", cpp::tensor_name(p_, e.symbol), index.empty() ? "0" : index);
  const bool plain = tensor.role == tensor_role::intermediate && !tensor.type_declared;
  if (!plain && is_narrow_float(tensor.type)) text = fmt::format("ks_from_{}({})", name_of(tensor.type), text);
  const value_type type = facts_.type_of(node);
  if (type == value_type::boolean) text = fmt::format("({} != 0)", text);
  if (type == value_type::i64) text = fmt::format("(int64_t)({})", text);
  if (check.empty()) return text;
  const std::string pad = is_real(type) ? real_literal(*tensor.pad, type) : integer_literal(static_cast<std::int64_t>(*tensor.pad));
  return fmt::format("({} ? {} : {})", check, text, pad);
}

std::string c_expression::cast(int node, const cpp::bindings& b) const {
  const expression& e = s_.nodes[at(node)];
  const int argument = e.arguments[0];
  const value_type own = facts_.type_of(argument);
  if (e.cast_to == dtype::boolean) return value_as(argument, value_type::boolean, b);
  if (is_integer(e.cast_to)) {
    if (is_real(own)) return saturated(value(argument, b), e.cast_to);
    const std::string whole = value_as(argument, value_type::i64, b);
    if (own == value_type::boolean || e.cast_to == dtype::i64) return whole;
    const auto [low, high] = limits_of(e.cast_to);
    return fmt::format("ks_clamped({}, {}, {})", whole, low, high);
  }
  const value_type into = e.cast_to == dtype::f64 ? value_type::f64 : value_type::f32;
  const std::string whole = value_as(argument, own == value_type::f64 ? own : into, b);
  if (!is_narrow_float(e.cast_to)) return fmt::format("({})({})", c_type(into), whole);
  return fmt::format("ks_from_{0}(ks_to_{0}({1}))", name_of(e.cast_to), whole);
}

std::string c_expression::call(int node, const cpp::bindings& b) const {
  const expression& e = s_.nodes[at(node)];
  const value_type type = facts_.type_of(node);
  const auto argument = [&](std::size_t i, value_type as) { return value_as(e.arguments[i], as, b); };
  // Comparisons happen in the wider of the two operands; everything else in the type of the result.
  value_type operands = type;
  if (type == value_type::boolean) {
    for (const int child : e.arguments) {
      const value_type own = facts_.type_of(child);
      const bool wider =
          own == value_type::f64 || (own == value_type::f32 && operands != value_type::f64) || operands == value_type::boolean;
      if (wider) operands = own;
    }
  }
  switch (e.op) {
    case operation::add:
    case operation::subtract:
    case operation::multiply:
    case operation::divide:
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
    case operation::equal:
    case operation::not_equal:
      return fmt::format("({} {} {})", argument(0, operands), infix(e.op), argument(1, operands));
    case operation::logical_and:
    case operation::logical_or:
      return fmt::format("({} {} {})", argument(0, value_type::boolean), infix(e.op), argument(1, value_type::boolean));
    case operation::logical_not:
      return fmt::format("(!{})", argument(0, value_type::boolean));
    case operation::negate:
      return fmt::format("(-{})", argument(0, type));
    case operation::select:
      return fmt::format("({} ? {} : {})", argument(0, value_type::boolean), argument(1, type), argument(2, type));
    case operation::minimum:
      return fmt::format("ks_smaller_{}({}, {})", type_suffix(type), argument(0, type), argument(1, type));
    case operation::maximum:
      return fmt::format("ks_larger_{}({}, {})", type_suffix(type), argument(0, type), argument(1, type));
    case operation::rsqrt:
      return fmt::format("({} / sqrt{}({}))", real_literal(1, type), math_suffix(type), argument(0, type));
    case operation::sigmoid:
      return fmt::format("({0} / ({0} + exp{1}(-{2})))", real_literal(1, type), math_suffix(type), argument(0, type));
    case operation::pow:
      return fmt::format("pow{}({}, {})", math_suffix(type), argument(0, type), argument(1, type));
    case operation::fma:
      if (type == value_type::i64) return fmt::format("({} * {} + {})", argument(0, type), argument(1, type), argument(2, type));
      return fmt::format("fma{}({}, {}, {})", math_suffix(type), argument(0, type), argument(1, type), argument(2, type));
    case operation::absolute:
      if (type == value_type::i64) return fmt::format("ks_absolute({})", argument(0, type));
      return fmt::format("fabs{}({})", math_suffix(type), argument(0, type));
    case operation::floor:
    case operation::ceil:
    case operation::round:
      if (type == value_type::i64) {  // of an integer: itself; of a real: the whole number as an integer
        const value_type own = facts_.type_of(e.arguments[0]);
        if (!is_real(own)) return argument(0, type);
        return saturated(fmt::format("{}{}({})", function_name(e.op), math_suffix(own), value(e.arguments[0], b)), dtype::i64);
      }
      [[fallthrough]];
    default:
      return fmt::format("{}{}({})", function_name(e.op), math_suffix(type), argument(0, type));
  }
}

std::string c_expression::value(int node, const cpp::bindings& b) const {
  if (!b.nodes[at(node)].empty()) return b.nodes[at(node)];
  const expression& e = s_.nodes[at(node)];
  const value_type type = facts_.type_of(node);
  switch (e.kind) {
    case expression_kind::number:
      if (type == value_type::boolean) return e.number != 0 ? "1" : "0";
      return type == value_type::i64 ? integer_literal(e.integer) : real_literal(e.number, type);
    case expression_kind::index:
      return b.variables[at(e.symbol)];
    case expression_kind::axis:
      return "n_" + p_.axes[at(e.symbol)].name;
    case expression_kind::load:
      return load(node, b);
    case expression_kind::call:
      return call(node, b);
    case expression_kind::cast:
      return cast(node, b);
    case expression_kind::reduce:
    case expression_kind::scan:
      break;
  }
  return "0";  // unreachable: reductions are bound before their users are written
}

std::string c_expression::identity(int node) const {
  const value_type type = facts_.accumulator_type(node);
  switch (s_.nodes[at(node)].reducer) {
    case reduction::prod:
    case reduction::all:
      return "1";
    case reduction::max:
      return is_real(type) ? "-INFINITY" : type == value_type::i64 ? "INT64_MIN" : "0";
    case reduction::min:
      return is_real(type) ? "INFINITY" : type == value_type::i64 ? "INT64_MAX" : "1";
    default:
      return "0";
  }
}

std::string c_expression::combine(int node, const std::string& so_far, const std::string& next) const {
  const value_type type = facts_.accumulator_type(node);
  switch (s_.nodes[at(node)].reducer) {
    case reduction::sum:
      return fmt::format("{} + {}", so_far, next);
    case reduction::prod:
      return fmt::format("{} * {}", so_far, next);
    case reduction::max:
      return fmt::format("ks_larger_{}({}, {})", type_suffix(type), so_far, next);
    case reduction::min:
      return fmt::format("ks_smaller_{}({}, {})", type_suffix(type), so_far, next);
    case reduction::all:
      return fmt::format("{} & {}", so_far, next);
    default:
      return fmt::format("{} | {}", so_far, next);
  }
}

std::string c_expression::store(const cpp::bindings& b) const {
  const tensor_declaration& tensor = p_.tensors[at(s_.target)];
  std::string index;
  for (std::size_t d = 0; d < s_.target_indices.size(); ++d) {
    const std::string& name = b.variables[at(s_.target_indices[d])];
    index = index.empty() ? name : fmt::format("({}) * {} + {}", index, c_extent(p_, tensor.shape[d]), name);
  }
  const value_type own = facts_.type_of(s_.root);
  const bool plain = tensor.role == tensor_role::intermediate && !tensor.type_declared;
  std::string text;
  if (is_float(tensor.type)) {
    text = value_as(s_.root, is_real(own) ? own : tensor.type == dtype::f64 ? value_type::f64 : value_type::f32, b);
    if (!plain && is_narrow_float(tensor.type)) text = fmt::format("ks_to_{}({})", name_of(tensor.type), text);
  } else if (tensor.type == dtype::boolean) {
    text = value_as(s_.root, value_type::boolean, b);
  } else if (is_real(own)) {
    text = saturated(value(s_.root, b), tensor.type);
  } else {
    text = value_as(s_.root, value_type::i64, b);
  }
  const std::string type = tensor.role == tensor_role::intermediate ? c_intermediate_type(tensor) : c_storage_type(tensor.type);
  return fmt::format("{}[{}] = ({})({});", cpp::tensor_name(p_, s_.target), index.empty() ? "0" : index, type, text);
}

}  // namespace kernsmith::external
