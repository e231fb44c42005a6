// Scalar expressions: row values, loop-invariant parts, positions.
#include <fmt/format.h>

#include <cmath>

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/row_grammar_expression.hpp"

namespace kernsmith::agents::row {

std::string real_literal(double value) {
  if (std::isnan(value)) return "double(NAN)";
  if (std::isinf(value)) return value > 0 ? "double(INFINITY)" : "-double(INFINITY)";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string expression_writer::convert_scalar(const std::string& text, value_class from, value_class want) {
  if (from == want) return text;
  switch (want) {
    case value_class::real:
      return fmt::format("double({})", text);
    case value_class::integer:
      return fmt::format("int64_t({})", text);
    case value_class::boolean:
      return fmt::format("({} != 0)", text);
  }
  return text;
}

std::string expression_writer::scalar(const row_statement& s, int node, value_class want, const index_names& names) {
  const expression& e = s.nodes[static_cast<std::size_t>(node)];
  std::string text;
  value_class type = e.type;
  switch (e.kind) {
    case expression_kind::number:
      if (want == value_class::real || e.type == value_class::real) {
        text = real_literal(e.type == value_class::real ? e.number : static_cast<double>(e.integer));
        type = value_class::real;
      } else {
        text = e.type == value_class::boolean ? (e.integer != 0 ? "true" : "false") : fmt::format("int64_t({})", e.integer);
      }
      break;
    case expression_kind::index:
      text = name_of(e.symbol, names);
      break;
    case expression_kind::axis:
      text = axis_name(e.symbol);
      break;
    case expression_kind::load: {
      const int from = p_.written_by(e.symbol);
      if (from < 0) {
        text = scalar_load(s, e, names);
        type = class_of(p_.tensor(e.symbol).type);
      } else {
        text = scalar_reference(from, names);
        type = p_.statements[static_cast<std::size_t>(from)].type;
      }
      break;
    }
    case expression_kind::cast: {
      const value_class inner = s.nodes[static_cast<std::size_t>(e.arguments[0])].type;
      const std::string argument = scalar(s, e.arguments[0], inner, names);
      const std::string storage = storage_type(e.cast_to);
      if (e.cast_to == dtype::boolean)
        text = convert_scalar(argument, inner, value_class::boolean);
      else if (is_float(e.cast_to))
        text = fmt::format("to_double(from_double<{}>({}))", storage, convert_scalar(argument, inner, value_class::real));
      else if (inner == value_class::real)
        text = fmt::format("int64_t(from_double<{}>({}))", storage, argument);
      else
        text = fmt::format("saturated_scalar<{}>({})", storage, convert_scalar(argument, inner, value_class::integer));
      type = class_of(e.cast_to);
      break;
    }
    case expression_kind::call:
      text = scalar_call(s, e, names);
      break;
    case expression_kind::reduce:
    case expression_kind::scan:
      break;  // only ever the root, which is taken apart by the sweeps
  }
  return convert_scalar(text, type, want);
}

std::string expression_writer::scalar_reference(int statement, const index_names& names) {
  const row_statement& s = p_.statements[static_cast<std::size_t>(statement)];
  if (s.kind == role::point || s.kind == role::reduce) {
    if (!in_lanes(s)) return value_name(s);
    return convert_scalar(fmt::format("{}[v][l]", value_name(s)), s.type == value_class::boolean ? value_class::integer : s.type, s.type);
  }
  return rounded_scalar(s, "(" + scalar(s, s.value, s.type, names) + ")");
}

std::string expression_writer::rounded_scalar(const row_statement& s, const std::string& text) const {
  const tensor_declaration& t = p_.tensor(s.tensor);
  if (!t.type_declared || t.role == tensor_role::output || t.type == dtype::f64 || t.type == dtype::i64 || t.type == dtype::boolean)
    return text;
  const std::string storage = storage_type(t.type);
  if (is_float(t.type)) return s.type == value_class::real ? fmt::format("to_double(from_double<{}>({}))", storage, text) : text;
  if (s.type == value_class::real) return fmt::format("double(from_double<{}>({}))", storage, text);
  return s.type == value_class::integer ? fmt::format("int64_t({}({}))", storage, text) : text;
}

std::string expression_writer::scalar_call(const row_statement& s, const expression& e, const index_names& names) {
  const auto type_of = [&](std::size_t i) { return s.nodes[static_cast<std::size_t>(e.arguments[i])].type; };
  const auto as = [&](std::size_t i, value_class want) { return scalar(s, e.arguments[i], want, names); };
  const auto real = [&](std::size_t i) { return as(i, value_class::real); };
  const value_class arithmetic = e.type == value_class::boolean ? value_class::real : e.type;
  const auto infix = [&](const char* symbol, value_class want) { return fmt::format("({} {} {})", as(0, want), symbol, as(1, want)); };
  const auto compare = [&](const char* symbol) {
    const bool any_real = type_of(0) == value_class::real || type_of(1) == value_class::real;
    return infix(symbol, any_real ? value_class::real : value_class::integer);
  };
  const auto function = [&](const char* name) { return fmt::format("std::{}({})", name, real(0)); };
  switch (e.op) {
    case operation::add:
      return infix("+", arithmetic);
    case operation::subtract:
      return infix("-", arithmetic);
    case operation::multiply:
      return infix("*", arithmetic);
    case operation::divide:
      return infix("/", value_class::real);
    case operation::negate:
      return fmt::format("(-{})", as(0, arithmetic));
    case operation::less:
      return compare("<");
    case operation::less_equal:
      return compare("<=");
    case operation::greater:
      return compare(">");
    case operation::greater_equal:
      return compare(">=");
    case operation::equal:
      return compare("==");
    case operation::not_equal:
      return compare("!=");
    case operation::logical_and:
      return infix("&&", value_class::boolean);
    case operation::logical_or:
      return infix("||", value_class::boolean);
    case operation::logical_not:
      return fmt::format("!({})", as(0, value_class::boolean));
    case operation::select:
      return fmt::format("({} ? {} : {})", as(0, value_class::boolean), as(1, e.type), as(2, e.type));
    case operation::minimum:
      return fmt::format("smaller({}, {})", as(0, e.type), as(1, e.type));
    case operation::maximum:
      return fmt::format("larger({}, {})", as(0, e.type), as(1, e.type));
    case operation::absolute:
      return fmt::format("std::abs({})", as(0, arithmetic));
    case operation::exp:
      return function("exp");
    case operation::log:
      return function("log");
    case operation::log1p:
      return function("log1p");
    case operation::expm1:
      return function("expm1");
    case operation::sqrt:
      return function("sqrt");
    case operation::rsqrt:
      return fmt::format("(1.0 / std::sqrt({}))", real(0));
    case operation::pow:
      return fmt::format("std::pow({}, {})", real(0), real(1));
    case operation::tanh:
      return function("tanh");
    case operation::erf:
      return function("erf");
    case operation::sigmoid:
      return fmt::format("(1.0 / (1.0 + std::exp(-({}))))", real(0));
    case operation::sin:
      return function("sin");
    case operation::cos:
      return function("cos");
    case operation::floor:
      return e.type == value_class::real ? function("floor") : as(0, e.type);
    case operation::ceil:
      return e.type == value_class::real ? function("ceil") : as(0, e.type);
    case operation::round:
      return e.type == value_class::real ? function("nearbyint") : as(0, e.type);
    case operation::fma:
      if (e.type == value_class::integer) return fmt::format("({} * {} + {})", as(0, e.type), as(1, e.type), as(2, e.type));
      return fmt::format("std::fma({}, {}, {})", real(0), real(1), real(2));
  }
  return "0.0";
}

}  // namespace kernsmith::agents::row
