#include "agents/synthesis/scalar_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents {
namespace {

template <class T>
const T& at(const std::vector<T>& all, int id) {
  return all[static_cast<std::size_t>(id)];
}

// How tightly C++ binds, loosest first.
constexpr int binds_conditional = 0, binds_or = 1, binds_and = 2, binds_equal = 3, binds_less = 4, binds_sum = 5, binds_product = 6,
              binds_unary = 7, binds_primary = 8;

std::string_view math_function(operation op) {
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
    case operation::sigmoid:
      return "ks_sigmoid";
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
    case operation::fma:
      return "std::fma";
    default:
      return "";
  }
}

struct infix {
  std::string_view symbol;
  int binds;
};

infix infix_of(operation op) {
  switch (op) {
    case operation::add:
      return {"+", binds_sum};
    case operation::subtract:
      return {"-", binds_sum};
    case operation::multiply:
      return {"*", binds_product};
    case operation::divide:
      return {"/", binds_product};
    case operation::less:
      return {"<", binds_less};
    case operation::less_equal:
      return {"<=", binds_less};
    case operation::greater:
      return {">", binds_less};
    case operation::greater_equal:
      return {">=", binds_less};
    case operation::equal:
      return {"==", binds_equal};
    case operation::not_equal:
      return {"!=", binds_equal};
    case operation::logical_and:
      return {"&&", binds_and};
    default:
      return {"||", binds_or};
  }
}

double number_value(const expression& e) {
  return e.type == value_class::real ? e.number : static_cast<double>(e.integer);
}

bool is_comparison(operation op) {
  return op >= operation::less && op <= operation::not_equal;
}

/// May the value of this integer expression not fit a float exactly? Extents of axes are let off: one rounding of a scale.
bool beyond_float(const tensor_ir& ir, const statement& s, int node) {
  constexpr std::int64_t exact = std::int64_t{1} << 24;
  if (at(s.nodes, node).kind == expression_kind::axis) return false;
  const std::optional<integer_range> range = range_of(ir.tensors, s, node);
  return !range || range->low < -exact || range->high > exact;
}

}  // namespace

bool needs_double(const tensor_ir& ir, const statement& s) {
  if (at(ir.tensors, s.target).type == dtype::f64 || involves_f64(ir.tensors, s, s.root)) return true;
  for (const expression& e : s.nodes) {
    if (e.kind != expression_kind::call) continue;
    const auto is_real = [&](int argument) { return at(s.nodes, argument).type == value_class::real; };
    const bool real = e.type == value_class::real || std::any_of(e.arguments.begin(), e.arguments.end(), is_real);
    for (const int argument : e.arguments)
      if (real && at(s.nodes, argument).type == value_class::integer && beyond_float(ir, s, argument)) return true;
  }
  return false;
}

std::string extent_text(const tensor_ir& ir, const dim& d) {
  return d.axis >= 0 ? at(ir.axes, d.axis).name : std::to_string(d.constant);
}

/// Text, its C++ type's class, and how tightly its outermost operator binds.
struct scalar_expression::piece {
  std::string text;
  value_class type = value_class::real;
  int binds = binds_primary;

  [[nodiscard]] std::string inside(int outer) const { return binds < outer ? "(" + text + ")" : text; }
};

std::string scalar_expression::type_text(value_class type) const {
  switch (type) {
    case value_class::real:
      return wide_ ? "double" : "float";
    case value_class::integer:
      return "int64_t";
    case value_class::boolean:
      return "bool";
  }
  return "float";
}

std::string scalar_expression::value(int node, value_class type) const {
  return render_as(node, type).text;
}
std::string scalar_expression::index_name(int variable) const {
  return at(s_.variables, variable).name;
}
std::string scalar_expression::extent_of_variable(int variable) const {
  return extent_text(ir_, at(s_.variables, variable).extent);
}

std::string scalar_expression::target_element() const {
  const tensor_declaration& target = at(ir_.tensors, s_.target);
  std::vector<std::string> positions;
  for (const int id : s_.target_indices) positions.push_back(index_name(id));
  return fmt::format("{}[{}]", target.name, linear(target, positions));
}

std::string scalar_expression::load_element(int node) const {
  const expression& e = at(s_.nodes, node);
  std::vector<std::string> positions;
  for (const index_expression& index : e.indices) positions.push_back(position(index));
  const tensor_declaration& tensor = at(ir_.tensors, e.symbol);
  return fmt::format("{}[{}]", tensor.name, linear(tensor, positions));
}

std::string scalar_expression::to_storage(const std::string& expression, std::string_view from) const {
  const dtype type = at(ir_.tensors, s_.target).type;
  const std::string storage = spelling_.storage(type);
  if (storage == from) return expression;
  if (type == dtype::boolean) return from == "bool" ? expression : fmt::format("({}) != 0", expression);
  if (from == "float" && type != dtype::f64) return fmt::format("from_float<{}>({})", storage, expression);
  if (from == "double" && type != dtype::f32) return fmt::format("from_double<{}>({})", storage, expression);
  if (from == "int64_t" || from == "bool") {
    if (is_integer(type)) return fmt::format("{}({})", storage, expression);  // wraps
    if (type != dtype::f64 && type != dtype::f32) return fmt::format("from_double<{}>(double({}))", storage, expression);
  }
  return fmt::format("{}({})", storage, expression);
}

scalar_expression::piece scalar_expression::render_as(int node, value_class type) const {
  const expression& e = at(s_.nodes, node);
  if (e.kind == expression_kind::number && type == value_class::real) return render_number(number_value(e));
  piece p = render(node);
  if (p.type == type) return p;
  if (type == value_class::boolean) return {p.inside(binds_equal + 1) + " != 0", type, binds_equal};
  return {fmt::format("{}({})", type_text(type), p.text), type, binds_primary};
}

scalar_expression::piece scalar_expression::render_number(double value) const {
  if (std::isnan(value)) return {fmt::format("{}(NAN)", type_text(value_class::real))};
  if (std::isinf(value)) return {value > 0 ? "INFINITY" : "-INFINITY", value_class::real, value > 0 ? binds_primary : binds_unary};
  std::string text = wide_ ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text == "inf") text = "INFINITY";
  if (text.find_first_of(".eI") == std::string::npos) text += ".0";
  if (!wide_ && text != "INFINITY") text += 'f';
  return {text, value_class::real, value < 0 ? binds_unary : binds_primary};
}

scalar_expression::piece scalar_expression::render(int node) const {
  const expression& e = at(s_.nodes, node);
  if (spelling_.at_hand)
    if (std::optional<std::string> text = spelling_.at_hand(node)) return {*text, e.type};
  switch (e.kind) {
    case expression_kind::number:
      if (e.type == value_class::real) return render_number(number_value(e));
      if (e.type == value_class::boolean) return {e.integer != 0 ? "true" : "false", e.type};
      if (e.integer == std::numeric_limits<std::int64_t>::min()) return {"INT64_MIN", e.type};
      return {std::to_string(e.integer), e.type, e.integer < 0 ? binds_unary : binds_primary};
    case expression_kind::index:
      return {index_name(e.symbol), value_class::integer};
    case expression_kind::axis:
      return {at(ir_.axes, e.symbol).name, value_class::integer};
    case expression_kind::load:
      return render_load(e);
    case expression_kind::cast:
      return render_cast(e);
    case expression_kind::call:
      return render_call(e, node);
    case expression_kind::reduce:
    case expression_kind::scan:
      break;  // always roots: the statement's loops compute them
  }
  return {"0", value_class::integer};
}

std::string scalar_expression::position(const index_expression& index) const {
  if (!index.is_affine) return value(index.gather, value_class::integer);
  std::string text;
  const auto append = [&](std::int64_t coefficient, const std::string& what) {
    const std::string size = std::to_string(std::abs(coefficient));
    const std::string term = what.empty() ? size : std::abs(coefficient) == 1 ? what : size + " * " + what;
    if (text.empty())
      text = coefficient < 0 ? "-" + term : term;
    else
      text += (coefficient < 0 ? " - " : " + ") + term;
  };
  for (const affine_term& term : index.terms) {
    std::string what = term.index >= 0 ? index_name(term.index) : "";
    for (const int a : term.axes) what += (what.empty() ? "" : " * ") + at(ir_.axes, a).name;
    append(term.coefficient, what);
  }
  if (index.constant != 0 || text.empty()) append(index.constant, "");
  return text;
}

std::string scalar_expression::linear(const tensor_declaration& tensor, const std::vector<std::string>& positions) const {
  const auto is_simple = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  };
  std::string text;
  for (std::size_t d = 0; d < positions.size(); ++d) {
    if (d == 0) {
      text = positions[0];
      continue;
    }
    const bool simple = is_simple(text);
    text = fmt::format("{} * {} + {}", simple ? text : "(" + text + ")", extent_text(ir_, tensor.shape[d]), positions[d]);
  }
  return text.empty() ? "0" : text;
}

bool scalar_expression::stays_inside(const index_expression& index, const dim& extent) const {
  const int variable = sole_index(index);
  return variable >= 0 && at(s_.variables, variable).extent == extent;
}

scalar_expression::piece scalar_expression::render_load(const expression& e) const {
  const tensor_declaration& tensor = at(ir_.tensors, e.symbol);
  std::vector<std::string> positions;
  std::string guard;
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    positions.push_back(position(e.indices[d]));
    if (!tensor.pad || stays_inside(e.indices[d], tensor.shape[d])) continue;
    guard += fmt::format("{}ks_inside({}, {})", guard.empty() ? "" : " && ", positions.back(), extent_text(ir_, tensor.shape[d]));
  }
  const std::string element = fmt::format("{}[{}]", tensor.name, linear(tensor, positions));
  piece p{element, e.type, binds_primary};
  if (tensor.type == dtype::boolean)
    p = {element + " != 0", value_class::boolean, binds_equal};
  else if (is_integer(tensor.type))
    p = {tensor.type == dtype::i64 ? element : fmt::format("int64_t({})", element), value_class::integer};
  else if (wide_)
    p = {tensor.type == dtype::f64 ? element : fmt::format("to_double({})", element), value_class::real};
  else
    p = {tensor.type == dtype::f32 ? element : fmt::format("to_float({})", element), value_class::real};
  if (guard.empty()) return p;
  std::string outside;
  if (p.type == value_class::boolean)
    outside = *tensor.pad != 0 ? "true" : "false";
  else if (p.type == value_class::integer)
    outside = fmt::format("int64_t({})", static_cast<std::int64_t>(*tensor.pad));
  else
    outside = render_number(*tensor.pad).text;
  return {fmt::format("{} ? {} : {}", guard, p.inside(binds_conditional + 1), outside), p.type, binds_conditional};
}

scalar_expression::piece scalar_expression::render_cast(const expression& e) const {
  const int operand = e.arguments[0];
  const value_class from = at(s_.nodes, operand).type;
  if (e.cast_to == dtype::boolean) return render_as(operand, value_class::boolean);
  const std::string storage = spelling_.storage(e.cast_to);
  if (is_integer(e.cast_to)) {
    if (from != value_class::real && e.cast_to == dtype::i64) return render_as(operand, value_class::integer);
    return {fmt::format("int64_t(ks_saturate<{}>({}))", storage, value(operand, from == value_class::real ? from : value_class::integer)),
            value_class::integer};
  }
  const std::string real =
      from == value_class::integer ? fmt::format("double({})", value(operand, from)) : value(operand, value_class::real);
  const std::string_view by = from == value_class::integer || wide_ ? "from_double" : "from_float";
  if (e.cast_to == dtype::f64 || (e.cast_to == dtype::f32 && !wide_ && from != value_class::integer))
    return render_as(operand, value_class::real);
  return {fmt::format("{}({}<{}>({}))", wide_ ? "to_double" : "to_float", by, storage, real), value_class::real};
}

scalar_expression::piece scalar_expression::render_integer_arithmetic(const expression& e, int node) const {
  const auto argument = [&](int n) { return render_as(e.arguments[static_cast<std::size_t>(n)], value_class::integer); };
  const bool may_wrap = !range_of(ir_.tensors, s_, node);
  if (may_wrap && (e.op == operation::add || e.op == operation::subtract || e.op == operation::multiply)) {
    const std::string_view function = e.op == operation::add ? "ks_add" : e.op == operation::subtract ? "ks_subtract" : "ks_multiply";
    return {fmt::format("{}({}, {})", function, argument(0).text, argument(1).text), value_class::integer};
  }
  switch (e.op) {
    case operation::negate:
      return may_wrap ? piece{fmt::format("ks_subtract(0, {})", argument(0).text), value_class::integer}
                      : piece{"-" + argument(0).inside(binds_primary), value_class::integer, binds_unary};
    case operation::absolute:
      return {fmt::format("ks_max<int64_t>({0}, ks_subtract(0, {0}))", argument(0).text), value_class::integer};
    case operation::fma:
      return {fmt::format("ks_add(ks_multiply({}, {}), {})", argument(0).text, argument(1).text, argument(2).text), value_class::integer};
    case operation::floor:
    case operation::ceil:
    case operation::round:
      return argument(0);
    default: {
      const infix op = infix_of(e.op);
      return {fmt::format("{} {} {}", argument(0).inside(op.binds), op.symbol, argument(1).inside(op.binds + 1)), value_class::integer,
              op.binds};
    }
  }
}

scalar_expression::piece scalar_expression::render_call(const expression& e, int node) const {
  const auto argument = [&](std::size_t n, value_class type) { return render_as(e.arguments[n], type); };
  const auto real_involved = [&](std::size_t first) {
    return std::any_of(e.arguments.begin() + static_cast<std::ptrdiff_t>(first), e.arguments.end(),
                       [&](int id) { return at(s_.nodes, id).type == value_class::real; });
  };
  switch (e.op) {
    case operation::select:
      return {fmt::format("{} ? {} : {}", argument(0, value_class::boolean).inside(binds_conditional + 1),
                          argument(1, e.type).inside(binds_conditional + 1), argument(2, e.type).text),
              e.type, binds_conditional};
    case operation::minimum:
    case operation::maximum: {
      const value_class type = e.type == value_class::boolean ? value_class::integer : e.type;
      return {fmt::format("{}<{}>({}, {})", e.op == operation::minimum ? "ks_min" : "ks_max", type_text(type), argument(0, type).text,
                          argument(1, type).text),
              type};
    }
    case operation::logical_not:
      return {"!" + argument(0, value_class::boolean).inside(binds_primary), value_class::boolean, binds_unary};
    case operation::logical_and:
    case operation::logical_or: {
      const infix op = infix_of(e.op);
      // && inside || is parenthesised, which compilers ask for.
      return {fmt::format("{} {} {}", argument(0, value_class::boolean).inside(binds_equal), op.symbol,
                          argument(1, value_class::boolean).inside(binds_equal)),
              value_class::boolean, op.binds};
    }
    default:
      break;
  }
  if (is_comparison(e.op)) {
    const value_class type = real_involved(0) ? value_class::real : value_class::integer;
    const infix op = infix_of(e.op);
    return {fmt::format("{} {} {}", argument(0, type).inside(binds_less + 1), op.symbol, argument(1, type).inside(binds_less + 1)),
            value_class::boolean, op.binds};
  }
  if (e.type == value_class::integer) return render_integer_arithmetic(e, node);
  const auto real = [&](std::size_t n) { return argument(n, value_class::real); };
  if (spelling_.function && !wide_)
    if (const std::string_view function = spelling_.function(e.op); !function.empty()) {
      std::string arguments;
      for (std::size_t n = 0; n < e.arguments.size(); ++n) arguments += (n == 0 ? "" : ", ") + real(n).text;
      return {fmt::format("{}({})", function, arguments), value_class::real};
    }
  if (e.op == operation::negate) return {"-" + real(0).inside(binds_primary), value_class::real, binds_unary};
  if (e.op == operation::absolute) return {fmt::format("std::fabs({})", real(0).text), value_class::real};
  if (e.op == operation::rsqrt)
    return {fmt::format("{} / std::sqrt({})", wide_ ? "1.0" : "1.0f", real(0).text), value_class::real, binds_product};
  if (const std::string_view function = math_function(e.op); !function.empty()) {
    std::string arguments;
    for (std::size_t n = 0; n < e.arguments.size(); ++n) arguments += (n == 0 ? "" : ", ") + real(n).text;
    return {fmt::format("{}({})", function, arguments), value_class::real};
  }
  const infix op = infix_of(e.op);
  return {fmt::format("{} {} {}", real(0).inside(op.binds), op.symbol, real(1).inside(op.binds + 1)), value_class::real, op.binds};
}

}  // namespace kernsmith::agents
