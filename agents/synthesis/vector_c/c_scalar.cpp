#include "agents/synthesis/vector_c/c_scalar.hpp"

#include <fmt/format.h>

#include <cmath>

#include "agents/synthesis/scalar_expression.hpp"

namespace kernsmith::agents::vector_c {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

std::string whole_number(std::int64_t value) {
  if (value == INT64_MIN) return "INT64_MIN";
  return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
}

std::string infix(operation op) {
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

std::string limits_of(dtype type) {
  switch (type) {
    case dtype::i32:
      return "INT32_MIN, INT32_MAX";
    case dtype::i16:
      return "INT16_MIN, INT16_MAX";
    case dtype::i8:
      return "INT8_MIN, INT8_MAX";
    case dtype::u8:
      return "0, UINT8_MAX";
    default:
      return "INT64_MIN, INT64_MAX";
  }
}

bool is_narrow(dtype type) {
  return type == dtype::f16 || type == dtype::bf16 || type == dtype::f8e4m3 || type == dtype::f8e5m2;
}

}  // namespace

std::string c_storage_type(dtype type) {
  if (type == dtype::f64) return "double";
  if (type == dtype::f32) return "float";
  if (type == dtype::f16 || type == dtype::bf16) return "uint16_t";
  if (type == dtype::i64) return "int64_t";
  if (type == dtype::i32) return "int32_t";
  if (type == dtype::i16) return "int16_t";
  return type == dtype::i8 ? "int8_t" : "uint8_t";
}

std::string c_extent(const tensor_ir& ir, const dim& d) {
  return d.axis >= 0 ? ir.axes[at(d.axis)].name : fmt::format("{}", d.constant);
}

c_scalar::c_scalar(const tensor_ir& ir, const statement& s, std::function<std::optional<std::string>(int)> at_hand, c_spelling spelling)
    : ir_(ir), s_(s), at_hand_(std::move(at_hand)), spelling_(spelling), wide_(spelling.wide || needs_double(ir, s)) {}

std::string c_scalar::function_of(operation op) const {
  switch (op) {
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
      return spelling_.dialect == c_dialect::opencl ? "rint" : "nearbyint";
    case operation::absolute:
      return "fabs";
    case operation::fma:
      return "fma";
    default:
      return "";
  }
}

std::string c_scalar::type_text(value_class type) const {
  return type != value_class::real ? "int64_t" : wide_ ? "double" : "float";
}

/// Overloaded functions need their arguments in the type they are meant to have.
std::string c_scalar::widened(const std::string& value) const {
  return wide_ && spelling_.dialect == c_dialect::opencl ? "(double)" + value : value;
}

std::string c_scalar::number(double value) const {
  if (std::isnan(value)) return widened("NAN");
  if (std::isinf(value)) return value < 0 ? widened("(-INFINITY)") : widened("INFINITY");
  std::string text = fmt::format("{}", wide_ ? value : static_cast<double>(static_cast<float>(value)));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (!wide_) text += "f";
  return std::signbit(value) ? "(" + text + ")" : text;
}

std::string c_scalar::value(int node, value_class type) const {
  const expression& e = s_.nodes[at(node)];
  if (e.kind == expression_kind::number && type == value_class::real) return number(e.number);
  const std::string own = own_value(node);
  if (e.type == type) return own;
  if (type == value_class::boolean) return fmt::format("({} != 0)", own);
  if (type == value_class::real) return fmt::format("({})({})", type_text(type), own);
  return e.type == value_class::real ? fmt::format("ks_saturated({}, INT64_MIN, INT64_MAX)", own) : fmt::format("(int64_t)({})", own);
}

std::string c_scalar::own_value(int node) const {
  if (at_hand_) {
    if (auto ready = at_hand_(node)) return *ready;
  }
  const expression& e = s_.nodes[at(node)];
  switch (e.kind) {
    case expression_kind::number:
      return e.type == value_class::real ? number(e.number) : whole_number(e.type == value_class::boolean ? e.number != 0 : e.integer);
    case expression_kind::index:
      return index_name(e.symbol);
    case expression_kind::axis:
      return ir_.axes[at(e.symbol)].name;
    case expression_kind::load:
      return load(node);
    case expression_kind::call:
      return call(e);
    case expression_kind::cast:
      return cast(e);
    case expression_kind::reduce:
    case expression_kind::scan:
      break;
  }
  return "0";  // roots only, and their emitters don't ask
}

std::string c_scalar::position(const index_expression& index, int skipped) const {
  if (!index.is_affine) return value(index.gather, value_class::integer);
  std::string text;
  for (const affine_term& term : index.terms) {
    if (term.index >= 0 && term.index == skipped) continue;
    std::string product;
    if (term.coefficient != 1 || (term.axes.empty() && term.index < 0)) product = whole_number(term.coefficient);
    for (const int axis : term.axes) product += (product.empty() ? "" : " * ") + ir_.axes[at(axis)].name;
    if (term.index >= 0) product += (product.empty() ? "" : " * ") + index_name(term.index);
    text += (text.empty() ? "" : " + ") + product;
  }
  if (index.constant != 0 || text.empty()) text += (text.empty() ? "" : " + ") + whole_number(index.constant);
  return text;
}

namespace {

/// One dimension further in: so_far * extent + where.
std::string nested(const std::string& so_far, const std::string& extent, const std::string& where) {
  const auto wrapped = [](const std::string& text) {
    const bool whole = text.find(' ') == std::string::npos || (text.front() == '(' && text.find(')') + 1 == text.size());
    return whole ? text : "(" + text + ")";
  };
  if (so_far.empty() || so_far == "0") return where;
  const std::string outer = fmt::format("{} * {}", wrapped(so_far), extent);
  return where == "0" ? outer : fmt::format("{} + {}", outer, where);
}

}  // namespace

std::string c_scalar::linear_index(int node, int skipped) const {
  const expression& e = s_.nodes[at(node)];
  const tensor_declaration& tensor = ir_.tensors[at(e.symbol)];
  std::string text;
  for (std::size_t d = 0; d < e.indices.size(); ++d) text = nested(text, c_extent(ir_, tensor.shape[d]), position(e.indices[d], skipped));
  return text.empty() ? "0" : text;
}

std::string c_scalar::target_index(int skipped) const {
  const tensor_declaration& tensor = ir_.tensors[at(s_.target)];
  std::string text;
  for (std::size_t d = 0; d < s_.target_indices.size(); ++d)
    text = nested(text, c_extent(ir_, tensor.shape[d]), s_.target_indices[d] == skipped ? "0" : index_name(s_.target_indices[d]));
  return text.empty() ? "0" : text;
}

std::string c_scalar::load(int node) const {
  const expression& e = s_.nodes[at(node)];
  const tensor_declaration& tensor = ir_.tensors[at(e.symbol)];
  std::string text = fmt::format("{}[{}]", tensor.name, linear_index(node)), check;
  if (is_narrow(tensor.type)) text = fmt::format("ks_from_{}({})", name_of(tensor.type), text);
  if (is_float(tensor.type) && tensor.type != dtype::f64) text = widened(text);
  if (!tensor.pad) return text;
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    const int sole = sole_index(e.indices[d]);
    if (sole >= 0 && s_.variables[at(sole)].extent == tensor.shape[d]) continue;
    check += fmt::format("{}ks_inside({}, {})", check.empty() ? "" : " && ", position(e.indices[d], -1), c_extent(ir_, tensor.shape[d]));
  }
  if (check.empty()) return text;
  const std::string pad = e.type == value_class::real ? number(*tensor.pad) : whole_number(static_cast<std::int64_t>(*tensor.pad));
  return fmt::format("({} ? {} : {})", check, text, pad);
}

std::string c_scalar::cast(const expression& e) const {
  const int argument = e.arguments[0];
  const value_class own = s_.nodes[at(argument)].type;
  if (e.cast_to == dtype::boolean) return value(argument, value_class::boolean);
  if (is_integer(e.cast_to)) {
    if (own == value_class::real) return fmt::format("ks_saturated({}, {})", value(argument, own), limits_of(e.cast_to));
    const std::string whole = value(argument, value_class::integer);
    return own == value_class::boolean || e.cast_to == dtype::i64 ? whole : fmt::format("ks_clamped({}, {})", whole, limits_of(e.cast_to));
  }
  const std::string whole = value(argument, value_class::real);
  if (is_narrow(e.cast_to)) return widened(fmt::format("ks_from_{0}(ks_to_{0}((float)({1})))", name_of(e.cast_to), whole));
  return e.cast_to == dtype::f64 ? fmt::format("(double)({})", whole) : widened(fmt::format("(float)({})", whole));
}

std::string c_scalar::extremum(bool larger, value_class type) const {
  return fmt::format("ks_{}_{}", larger ? "larger" : "smaller", type != value_class::real ? "i64" : wide_ ? "f64" : "f32");
}

std::string c_scalar::call(const expression& e) const {
  const value_class type = e.type;
  const auto argument = [&](std::size_t i, value_class as) { return value(e.arguments[i], as); };
  const auto own = [&](std::size_t i) { return s_.nodes[at(e.arguments[i])].type; };
  switch (e.op) {
    case operation::add:
    case operation::subtract:
    case operation::multiply:
    case operation::divide:
      return fmt::format("({} {} {})", argument(0, type), infix(e.op), argument(1, type));
    case operation::less:
    case operation::less_equal:
    case operation::greater:
    case operation::greater_equal:
    case operation::equal:
    case operation::not_equal: {
      const bool real = own(0) == value_class::real || own(1) == value_class::real;
      const value_class as = real ? value_class::real : value_class::integer;
      return fmt::format("({} {} {})", argument(0, as), infix(e.op), argument(1, as));
    }
    case operation::logical_and:
    case operation::logical_or:
      return fmt::format("({} {} {})", argument(0, value_class::boolean), infix(e.op), argument(1, value_class::boolean));
    case operation::logical_not:
      return fmt::format("(!{})", argument(0, value_class::boolean));
    case operation::negate:
      return fmt::format("(-{})", argument(0, type));
    case operation::select:
      return fmt::format("({} ? {} : {})", argument(0, value_class::boolean), argument(1, type), argument(2, type));
    case operation::minimum:
    case operation::maximum:
      return fmt::format("{}({}, {})", extremum(e.op == operation::maximum, type), argument(0, type), argument(1, type));
    case operation::rsqrt:
      return fmt::format("({} / sqrt{}({}))", number(1), suffix(), argument(0, type));
    case operation::sigmoid:
      return fmt::format("({0} / ({0} + exp{1}(-{2})))", number(1), suffix(), argument(0, type));
    case operation::pow:
      return fmt::format("pow{}({}, {})", suffix(), argument(0, type), argument(1, type));
    case operation::fma:
      if (type != value_class::real) return fmt::format("({} * {} + {})", argument(0, type), argument(1, type), argument(2, type));
      return fmt::format("fma{}({}, {}, {})", suffix(), argument(0, type), argument(1, type), argument(2, type));
    case operation::absolute:
      if (type != value_class::real) return fmt::format("ks_absolute({})", argument(0, type));
      return fmt::format("fabs{}({})", suffix(), argument(0, type));
    case operation::floor:
    case operation::ceil:
    case operation::round:
      if (type != value_class::real) {  // of an integer: itself; of a real: the whole number as an integer
        if (own(0) != value_class::real) return argument(0, type);
        return fmt::format("ks_saturated({}{}({}), INT64_MIN, INT64_MAX)", function_of(e.op), suffix(), argument(0, value_class::real));
      }
      [[fallthrough]];
    default:
      return fmt::format("{}{}({})", function_of(e.op), suffix(), argument(0, type));
  }
}

std::string c_scalar::to_storage(const std::string& value, value_class type) const {
  const tensor_declaration& tensor = ir_.tensors[at(s_.target)];
  std::string text = value;
  if (is_float(tensor.type)) {
    if (is_narrow(tensor.type)) text = fmt::format("ks_to_{}((float)({}))", name_of(tensor.type), text);
  } else if (tensor.type == dtype::boolean) {
    text = fmt::format("({}) != 0", text);
  } else if (type == value_class::real) {
    text = fmt::format("ks_saturated({}, {})", text, limits_of(tensor.type));
  }
  return fmt::format("({})({})", c_storage_type(tensor.type), text);
}

std::string c_scalar::store(const std::string& value, value_class type) const {
  return fmt::format("{}[{}] = {};", ir_.tensors[at(s_.target)].name, target_index(), to_storage(value, type));
}

}  // namespace kernsmith::agents::vector_c
