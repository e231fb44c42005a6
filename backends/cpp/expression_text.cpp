#include "backends/cpp/expression_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace kernsmith::cpp {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

std::string real_literal(double number, value_type type) {
  const char* limits = type == value_type::f32 ? "std::numeric_limits<float>" : "std::numeric_limits<double>";
  if (std::isnan(number)) return fmt::format("{}::quiet_NaN()", limits);
  if (std::isinf(number)) return fmt::format("({}{}::infinity())", number < 0 ? "-" : "", limits);
  std::string text = fmt::format("{}", type == value_type::f32 ? static_cast<double>(static_cast<float>(number)) : number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type == value_type::f32) text += "f";
  return number < 0 || std::signbit(number) ? "(" + text + ")" : text;
}

std::string integer_literal(std::int64_t number) {
  if (number == INT64_MIN) return "INT64_MIN";
  return number < 0 ? fmt::format("(int64_t{{{}}})", number) : fmt::format("int64_t{{{}}}", number);
}

const char* function_name(operation op) {
  switch (op) {
    case operation::exp:
      return "std::exp";
    case operation::log:
      return "std::log";
    case operation::log1p:
      return "std::log1p";
    case operation::expm1:
      return "std::expm1";
    case operation::sqrt:
      return "std::sqrt";
    case operation::pow:
      return "std::pow";
    case operation::tanh:
      return "std::tanh";
    case operation::erf:
      return "std::erf";
    case operation::sin:
      return "std::sin";
    case operation::cos:
      return "std::cos";
    case operation::floor:
      return "std::floor";
    case operation::ceil:
      return "std::ceil";
    case operation::round:
      return "std::nearbyint";
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

value_type wider(value_type a, value_type b) {
  if (a == value_type::f64 || b == value_type::f64) return value_type::f64;
  if (a == value_type::f32 || b == value_type::f32) return value_type::f32;
  if (a == value_type::i64 || b == value_type::i64) return value_type::i64;
  return value_type::boolean;
}

}  // namespace

std::string tensor_name(const problem& p, int tensor) {
  return "t_" + p.tensors[at(tensor)].name;
}

std::string extent_text(const problem& p, const dim& d) {
  return d.axis >= 0 ? "n_" + p.axes[at(d.axis)].name : fmt::format("int64_t{{{}}}", d.constant);
}

std::string storage_type(dtype type) {
  switch (type) {
    case dtype::f64:
      return "double";
    case dtype::f32:
      return "float";
    case dtype::f16:
      return "_Float16";
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
    case dtype::f8e4m3:
    case dtype::f8e5m2:
    case dtype::u8:
    case dtype::boolean:
      return "uint8_t";
  }
  return "uint8_t";
}

std::string type_text(value_type type) {
  switch (type) {
    case value_type::f32:
      return "float";
    case value_type::f64:
      return "double";
    case value_type::i64:
      return "int64_t";
    case value_type::boolean:
      return "bool";
  }
  return "bool";
}

std::string intermediate_type(const tensor_declaration& tensor, arithmetic mode) {
  if (mode == arithmetic::wide) return is_float(tensor.type) ? "double" : "int64_t";
  if (tensor.type_declared) return storage_type(tensor.type);
  if (is_float(tensor.type)) return tensor.type == dtype::f64 ? "double" : "float";
  return tensor.type == dtype::boolean ? "uint8_t" : "int64_t";
}

expression_text::expression_text(const problem& p, const statement& s, arithmetic mode) : p_(p), s_(s), mode_(mode) {
  for (const expression& e : s.nodes) {
    types_.push_back(infer(e));
    variable_set depends = e.kind == expression_kind::index ? variable_set{1} << e.symbol : 0;
    for (int child : e.arguments) depends |= depends_[at(child)];
    for (const index_expression& index : e.indices) {
      if (index.gather >= 0) depends |= depends_[at(index.gather)];
      for (const affine_term& term : index.terms) {
        if (term.index >= 0) depends |= variable_set{1} << term.index;
      }
    }
    for (int variable : e.bound) {
      if (e.kind == expression_kind::reduce) depends &= ~(variable_set{1} << variable);
      if (e.kind == expression_kind::scan) depends |= variable_set{1} << variable;
    }
    depends_.push_back(depends);
  }
}

value_type expression_text::infer(const expression& e) const {
  if (e.type == value_class::boolean) return value_type::boolean;
  if (e.type == value_class::integer) return value_type::i64;
  if (mode_ == arithmetic::wide) return value_type::f64;
  switch (e.kind) {
    case expression_kind::load:
      return p_.tensors[at(e.symbol)].type == dtype::f64 ? value_type::f64 : value_type::f32;
    case expression_kind::cast:
      return e.cast_to == dtype::f64 ? value_type::f64 : value_type::f32;
    default:
      break;
  }
  value_type type = value_type::boolean;
  for (int child : e.arguments) type = wider(type, types_[at(child)]);
  // A quotient of integers keeps all their digits.
  if (type == value_type::i64 && e.kind == expression_kind::call && e.op == operation::divide) return value_type::f64;
  return type == value_type::f64 ? value_type::f64 : value_type::f32;
}

std::vector<int> expression_text::reductions_under(int node) const {
  std::vector<bool> wanted(s_.nodes.size(), false);
  wanted[at(node)] = true;
  for (int i = node; i >= 0; --i) {
    if (!wanted[at(i)]) continue;
    for (int child : s_.nodes[at(i)].arguments) wanted[at(child)] = true;
    for (const index_expression& index : s_.nodes[at(i)].indices) {
      if (index.gather >= 0) wanted[at(index.gather)] = true;
    }
  }
  std::vector<int> found;
  for (int i = 0; i <= node; ++i) {
    const expression_kind kind = s_.nodes[at(i)].kind;
    if (wanted[at(i)] && (kind == expression_kind::reduce || kind == expression_kind::scan)) found.push_back(i);
  }
  return found;
}

std::string expression_text::value_as(int node, value_type type, const bindings& b) const {
  const value_type own = type_of(node);
  if (own == type) return value(node, b);
  const expression& e = s_.nodes[at(node)];
  if (e.kind == expression_kind::number && type != value_type::boolean && type != value_type::i64) return real_literal(e.number, type);
  if (type == value_type::boolean) return fmt::format("({} != 0)", value(node, b));
  if (type == value_type::i64 && own != value_type::boolean) return fmt::format("saturated<int64_t>({})", value(node, b));
  return fmt::format("static_cast<{}>({})", type_text(type), value(node, b));
}

std::string expression_text::position(const index_expression& index, const bindings& b) const {
  if (!index.is_affine) return value_as(index.gather, value_type::i64, b);
  std::string text;
  for (const affine_term& term : index.terms) {
    std::string product;
    const std::int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    if (size != 1 || (term.axes.empty() && term.index < 0)) product = fmt::format("{}", size);
    for (int axis : term.axes) product += (product.empty() ? "n_" : " * n_") + p_.axes[at(axis)].name;
    if (term.index >= 0) product += (product.empty() ? "" : " * ") + b.variables[at(term.index)];
    text += text.empty() ? (term.coefficient < 0 ? "-" : "") : (term.coefficient < 0 ? " - " : " + ");
    text += product;
  }
  if (text.empty()) return integer_literal(index.constant);
  if (index.constant != 0)
    text += fmt::format(" {} {}", index.constant < 0 ? '-' : '+', index.constant < 0 ? -index.constant : index.constant);
  return text;
}

std::string expression_text::load(const expression& e, const bindings& b) const {
  const tensor_declaration& tensor = p_.tensors[at(e.symbol)];
  std::string index, check;
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    const std::string extent = extent_text(p_, tensor.shape[d]);
    const std::string where = position(e.indices[d], b);
    index = index.empty() ? where : fmt::format("({}) * {} + ({})", index, extent, where);
    const int sole = sole_index(e.indices[d]);
    const bool always_inside = sole >= 0 && s_.variables[at(sole)].extent == tensor.shape[d];
    if (tensor.pad && !always_inside) check += fmt::format("{}inside({}, {})", check.empty() ? "" : " && ", where, extent);
  }
  const std::string element = fmt::format("{}[{}]", tensor_name(p_, e.symbol), index.empty() ? "0" : index);
  const bool plain = tensor.role == tensor_role::intermediate && (mode_ == arithmetic::wide || !tensor.type_declared);
  const bool wide_output = tensor.role == tensor_role::output && mode_ == arithmetic::wide;
  const value_type type = infer(e);
  std::string text = element;
  if (!plain && !wide_output) {
    switch (tensor.type) {
      case dtype::bf16:
        text = fmt::format("from_bf16({})", element);
        break;
      case dtype::f8e4m3:
        text = fmt::format("from_f8e4m3({})", element);
        break;
      case dtype::f8e5m2:
        text = fmt::format("from_f8e5m2({})", element);
        break;
      default:
        break;
    }
  }
  if (type == value_type::boolean) {
    text = fmt::format("({} != 0)", text);
  } else if (!(type == value_type::f32 && (tensor.type == dtype::f32 || tensor.type == dtype::bf16)) && !(tensor.type == dtype::f64)) {
    text = fmt::format("static_cast<{}>({})", type_text(type), text);
  }
  if (check.empty()) return text;
  const std::string pad = type == value_type::boolean ? (*tensor.pad != 0 ? "true" : "false")
                          : type == value_type::i64   ? integer_literal(static_cast<std::int64_t>(*tensor.pad))
                                                      : real_literal(*tensor.pad, type);
  return fmt::format("({} ? {} : {})", check, text, pad);
}

std::string expression_text::cast(const expression& e, const bindings& b) const {
  const int argument = e.arguments[0];
  if (is_integer(e.cast_to)) {
    if (type_of(argument) == value_type::boolean) return value_as(argument, value_type::i64, b);
    if (type_of(argument) == value_type::i64) {
      if (e.cast_to == dtype::i64) return value(argument, b);
      return fmt::format("clamped<{}>({})", storage_type(e.cast_to), value(argument, b));
    }
    return fmt::format("saturated<{}>({})", storage_type(e.cast_to), value(argument, b));
  }
  if (e.cast_to == dtype::boolean) return value_as(argument, value_type::boolean, b);
  const value_type into = mode_ == arithmetic::wide || e.cast_to == dtype::f64 ? value_type::f64 : value_type::f32;
  const std::string whole =
      value_as(argument, mode_ == arithmetic::wide || type_of(argument) == value_type::f64 ? value_type::f64 : into, b);
  std::string rounded = whole;
  switch (e.cast_to) {
    case dtype::f32:
      rounded = fmt::format("static_cast<float>({})", whole);
      break;
    case dtype::f16:
      rounded = fmt::format("static_cast<_Float16>({})", whole);
      break;
    case dtype::bf16:
      rounded = fmt::format("from_bf16(to_bf16({}))", whole);
      break;
    case dtype::f8e4m3:
      rounded = fmt::format("from_f8e4m3(to_f8e4m3({}))", whole);
      break;
    case dtype::f8e5m2:
      rounded = fmt::format("from_f8e5m2(to_f8e5m2({}))", whole);
      break;
    default:
      break;
  }
  return fmt::format("static_cast<{}>({})", type_text(into), rounded);
}

std::string expression_text::call(int node, const bindings& b) const {
  const expression& e = s_.nodes[at(node)];
  const value_type type = type_of(node);
  const auto argument = [&](std::size_t i, value_type as) { return value_as(e.arguments[i], as, b); };
  // Comparisons happen in the wider of the two operands; everything else in the type of the result.
  value_type operands = type;
  if (type == value_type::boolean && e.op != operation::select) {
    operands = value_type::boolean;
    for (int child : e.arguments) operands = wider(operands, type_of(child));
  }
  switch (e.op) {
    case operation::add:
    case operation::subtract:
    case operation::multiply:
      if (type == value_type::i64 && mode_ == arithmetic::wide) {
        const char* name = e.op == operation::add ? "wrap_add" : e.op == operation::subtract ? "wrap_sub" : "wrap_mul";
        return fmt::format("{}({}, {})", name, argument(0, type), argument(1, type));
      }
      [[fallthrough]];
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
      if (type == value_type::i64 && mode_ == arithmetic::wide) return fmt::format("wrap_sub(int64_t{{0}}, {})", argument(0, type));
      return fmt::format("(-{})", argument(0, type));
    case operation::select:
      return fmt::format("({} ? {} : {})", argument(0, value_type::boolean), argument(1, type), argument(2, type));
    case operation::minimum:
      return fmt::format("smaller<{}>({}, {})", type_text(type), argument(0, type), argument(1, type));
    case operation::maximum:
      return fmt::format("larger<{}>({}, {})", type_text(type), argument(0, type), argument(1, type));
    case operation::absolute:
      return fmt::format("std::abs({})", argument(0, type));
    case operation::rsqrt:
      return fmt::format("({} / std::sqrt({}))", real_literal(1, type), argument(0, type));
    case operation::sigmoid:
      return fmt::format("({0} / ({0} + std::exp(-{1})))", real_literal(1, type), argument(0, type));
    case operation::pow:
      return fmt::format("std::pow({}, {})", argument(0, type), argument(1, type));
    case operation::fma:
      if (type == value_type::i64) {
        return fmt::format("wrap_add(wrap_mul({}, {}), {})", argument(0, type), argument(1, type), argument(2, type));
      }
      return fmt::format("std::fma({}, {}, {})", argument(0, type), argument(1, type), argument(2, type));
    case operation::floor:
    case operation::ceil:
    case operation::round:
      if (type == value_type::i64) {  // of an integer: itself; of a real: the whole number as an integer
        const value_type own = type_of(e.arguments[0]);
        if (own == value_type::i64 || own == value_type::boolean) return argument(0, type);
        return fmt::format("saturated<int64_t>({}({}))", function_name(e.op), value(e.arguments[0], b));
      }
      [[fallthrough]];
    default:
      return fmt::format("{}({})", function_name(e.op), argument(0, type));
  }
}

std::string expression_text::value(int node, const bindings& b) const {
  if (!b.nodes[at(node)].empty()) return b.nodes[at(node)];
  const expression& e = s_.nodes[at(node)];
  switch (e.kind) {
    case expression_kind::number:
      if (type_of(node) == value_type::boolean) return e.number != 0 ? "true" : "false";
      return type_of(node) == value_type::i64 ? integer_literal(e.integer) : real_literal(e.number, type_of(node));
    case expression_kind::index:
      return b.variables[at(e.symbol)];
    case expression_kind::axis:
      return "n_" + p_.axes[at(e.symbol)].name;
    case expression_kind::load:
      return load(e, b);
    case expression_kind::call:
      return call(node, b);
    case expression_kind::cast:
      return cast(e, b);
    case expression_kind::reduce:
    case expression_kind::scan:
      break;
  }
  return "0";  // unreachable: reductions are bound before their users are written
}

}  // namespace kernsmith::cpp
