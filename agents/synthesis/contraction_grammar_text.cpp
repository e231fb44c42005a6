// Expression trees of a nest as C++ text.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "agents/synthesis/contraction_grammar_expression.hpp"
#include "agents/synthesis/prelude.hpp"

namespace kernsmith::agents::nest {
namespace {

std::size_t at(int id) {
  return static_cast<std::size_t>(id);
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
    default:
      return nullptr;
  }
}

/// Function of one real argument, as the prelude's lanes ("vexp") and as <cmath> has it ("std::exp").
std::string_view unary(operation op) {
  switch (op) {
    case operation::absolute:
      return "abs";
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
    case operation::rsqrt:
      return "rsqrt";
    case operation::tanh:
      return "tanh";
    case operation::erf:
      return "erf";
    case operation::sigmoid:
      return "sigmoid";
    case operation::sin:
      return "sin";
    case operation::cos:
      return "cos";
    case operation::floor:
      return "floor";
    case operation::ceil:
      return "ceil";
    case operation::round:
      return "round";
    default:
      return "";
  }
}

/// Booleans of memory and of earlier statements are 1.0 or 0.0 in lanes, others are masks.
bool held_as_number(const node& n) {
  return n.kind == node_kind::load || n.kind == node_kind::value || n.kind == node_kind::number;
}

}  // namespace

std::string prelude_piece(operation op) {
  switch (op) {
    case operation::exp:
    case operation::log:
    case operation::log1p:
    case operation::expm1:
    case operation::rsqrt:
    case operation::tanh:
    case operation::erf:
    case operation::sigmoid:
      return std::string(unary(op));
    case operation::sin:
    case operation::cos:
      return "sincos";
    case operation::pow:
      return "pow";
    default:
      return "";
  }
}

std::string emission::literal(double value) const {
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  if (std::isnan(value)) return "NAN";
  std::string text = wide ? fmt::format("{:.17g}", value) : fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (!wide) text += "f";
  return value < 0 ? "(" + text + ")" : text;
}

std::string emission::address(const linear_form& where) {
  const tensor_ir& ir = *p->ir;
  std::string sum;
  for (const auto& [variable, stride] : where.strides) {
    const std::string& name = variable_names[at(variable)];
    const bool one = stride == polynomial::constant(1);
    sum += (sum.empty() ? "" : " + ") + (one ? name : name + " * " + stride.text(ir));
  }
  if (!where.offset.is_zero()) sum += (sum.empty() ? "" : " + ") + where.offset.text(ir);
  return sum.empty() ? "0" : sum;
}

/// "p_ * 2 + r_ + -1"; the lane variable stands for its first lane.
std::string emission::position(const guard& g) const {
  std::string sum;
  for (const auto& [variable, stride] : g.strides) {
    const std::string& name = variable_names[at(variable)];
    sum += (sum.empty() ? "" : " + ") + (stride == polynomial::constant(1) ? name : name + " * " + stride.text(*p->ir));
  }
  if (!g.offset.is_zero() || sum.empty()) sum += (sum.empty() ? "" : " + ") + g.offset.text(*p->ir);
  return sum;
}

/// The load where it falls inside, else the pad. Along the lanes each lane decides for itself.
std::string emission::guarded(const node& n, const std::string& load) {
  std::string condition, value = load;
  for (const guard& g : n.guards) {
    const std::string extent = g.extent.text(*p->ir);
    if (vector && g.strides.contains(lane)) {
      if (!lanes_inside)
        value = fmt::format("read_padded(t.{}, {}, {}, {}, {}, {}, lanes, {})", p->ir->tensors[at(n.where.tensor)].name, address(n.where),
                            n.where.stride(lane).text(*p->ir), position(g), g.strides.at(lane).text(*p->ir), extent, literal(n.number));
      continue;
    }
    condition += fmt::format("{}inside({}, {})", condition.empty() ? "" : " && ", position(g), extent);
  }
  if (condition.empty()) return value;
  const std::string pad = vector ? "splat(" + literal(n.number) + ")" : literal(n.number);
  return fmt::format("({} ? {} : {})", condition, value, pad);
}

std::string emission::load_text(const node& n) {
  const tensor_declaration& tensor = p->ir->tensors[at(n.where.tensor)];
  const std::string name = "t." + tensor.name;
  const std::string offset = address(n.where);
  const polynomial stride = vector ? n.where.stride(lane) : polynomial{};
  if (vector && !stride.is_zero()) {
    if (stride == polynomial::constant(1)) return guarded(n, fmt::format("read({} + {}, lanes)", name, offset));
    return guarded(n, fmt::format("read_strided({} + {}, {}, lanes)", name, offset, stride.text(*p->ir)));
  }
  const std::string element = fmt::format("{}[{}]", name, offset);
  const std::string converted = fmt::format("{}({})", wide ? "to_double" : "to_float", element);
  if (vector) return guarded(n, fmt::format("splat({})", converted));
  if (n.type == value_class::boolean) return "(" + element + " != 0)";
  return n.type == value_class::integer ? "int64_t(" + element + ")" : guarded(n, converted);
}

std::string emission::cast_text(const node& n) {
  const int argument = n.arguments[0];
  const dtype from_exact = wide ? dtype::f64 : dtype::f32;
  if (is_float(n.cast_to)) {
    const std::string value = real(argument);
    if (n.cast_to == from_exact || n.cast_to == dtype::f64) return value;
    const std::string type = storage_type(n.cast_to);
    if (vector) return fmt::format("round_to<{}>({})", type, value);
    return wide ? fmt::format("to_double(from_double<{}>({}))", type, value) : fmt::format("to_float(from_float<{}>({}))", type, value);
  }
  if (n.cast_to == dtype::boolean) return truth(argument);
  if (p->nodes[at(argument)].type == value_class::real)
    return fmt::format("int64_t({}<{}>({}))", wide ? "from_double" : "from_float", storage_type(n.cast_to), real(argument));
  if (n.cast_to == dtype::i64) return integer(argument);
  return fmt::format("std::clamp<int64_t>({}, {}, {})", integer(argument), static_cast<std::int64_t>(lowest_value(n.cast_to)),
                     static_cast<std::int64_t>(largest_finite(n.cast_to)));
}

std::string emission::call_text(const node& n) {
  const std::vector<int>& a = n.arguments;
  const auto operand = [&](std::size_t i) { return n.type == value_class::integer ? integer(a[i]) : real(a[i]); };
  if (vector && !prelude_piece(n.op).empty()) preludes.insert(prelude_piece(n.op));
  if (const char* symbol = infix(n.op)) {
    const bool compares = n.op >= operation::less && n.op <= operation::not_equal;
    if (n.type == value_class::integer && !compares) {
      const char* wrapping = n.op == operation::add ? "ks_add" : n.op == operation::subtract ? "ks_subtract" : "ks_multiply";
      return fmt::format("{}({}, {})", wrapping, integer(a[0]), integer(a[1]));
    }
    const auto whole = [&](int id) { return p->nodes[at(id)].type == value_class::integer; };
    if (compares && !vector && whole(a[0]) && whole(a[1])) return fmt::format("({} {} {})", integer(a[0]), symbol, integer(a[1]));
    return fmt::format("({} {} {})", real(a[0]), symbol, real(a[1]));
  }
  switch (n.op) {
    case operation::negate:
      return n.type == value_class::integer ? fmt::format("ks_subtract(0, {})", integer(a[0])) : fmt::format("(-{})", real(a[0]));
    case operation::logical_and:
      return fmt::format("({} {} {})", truth(a[0]), vector ? "&" : "&&", truth(a[1]));
    case operation::logical_or:
      return fmt::format("({} {} {})", truth(a[0]), vector ? "|" : "||", truth(a[1]));
    case operation::logical_not:
      return fmt::format("({}{})", vector ? "~" : "!", truth(a[0]));
    case operation::select:
      if (vector) return fmt::format("vselect({}, {}, {})", truth(a[0]), real(a[1]), real(a[2]));
      if (n.type == value_class::boolean) return fmt::format("({} ? {} : {})", truth(a[0]), truth(a[1]), truth(a[2]));
      return fmt::format("({} ? {} : {})", truth(a[0]), operand(1), operand(2));
    case operation::minimum:
      return fmt::format("{}({}, {})", vector ? "vmin" : "ks_min", operand(0), operand(1));
    case operation::maximum:
      return fmt::format("{}({}, {})", vector ? "vmax" : "ks_max", operand(0), operand(1));
    case operation::pow:
      return fmt::format("{}({}, {})", vector ? "vpow" : "std::pow", real(a[0]), real(a[1]));
    case operation::fma:
      if (n.type == value_class::integer)
        return fmt::format("ks_add(ks_multiply({}, {}), {})", integer(a[0]), integer(a[1]), integer(a[2]));
      return fmt::format("{}({}, {}, {})", vector ? "vfma" : "std::fma", real(a[0]), real(a[1]), real(a[2]));
    default:
      break;
  }
  const std::string_view name = unary(n.op);
  if (n.type == value_class::integer)  // floor, ceil and round leave integers alone
    return n.op == operation::absolute ? fmt::format("std::abs({})", integer(a[0])) : integer(a[0]);
  if (vector) return fmt::format("v{}({})", name, real(a[0]));
  if (n.op == operation::rsqrt) return fmt::format("({} / std::sqrt({}))", literal(1), real(a[0]));
  if (n.op == operation::sigmoid) return fmt::format("ks_sigmoid({})", real(a[0]));
  if (n.op == operation::round) return fmt::format("std::nearbyint({})", real(a[0]));
  return fmt::format("std::{}({})", name, real(a[0]));
}

/// In the node's own class; integers in lanes are exact floats.
std::string emission::any(int id) {
  const node& n = p->nodes[at(id)];
  switch (n.kind) {
    case node_kind::number:
      if (vector) return "splat(" + literal(n.type == value_class::integer ? static_cast<double>(n.integer) : n.number) + ")";
      if (n.type == value_class::boolean) return n.number != 0 || n.integer != 0 ? "true" : "false";
      return n.type == value_class::integer ? fmt::format("int64_t({})", n.integer) : literal(n.number);
    case node_kind::axis: {
      const std::string extent = "t." + p->ir->axes[at(n.symbol)].name;
      return vector ? fmt::format("splat({}({}))", wide ? "double" : "float", extent) : extent;
    }
    case node_kind::variable: {
      const std::string& name = variable_names[at(n.symbol)];
      return vector ? fmt::format("splat({}({}))", wide ? "double" : "float", name) : name;
    }
    case node_kind::value:
      return values.at(n.symbol);
    case node_kind::load:
      return load_text(n);
    case node_kind::cast:
      return cast_text(n);
    case node_kind::call:
      return call_text(n);
  }
  return "";
}

std::string emission::real(int id) {
  const node& n = p->nodes[at(id)];
  const std::string text = any(id);
  if (vector && n.type == value_class::boolean && !held_as_number(n))
    return fmt::format("vselect({}, splat({}), splat({}))", text, literal(1), literal(0));
  if (vector || n.type == value_class::real) return text;
  return fmt::format("{}({})", wide ? "double" : "float", text);
}

std::string emission::truth(int id) {
  const node& n = p->nodes[at(id)];
  if (vector)
    return n.type == value_class::boolean && !held_as_number(n) ? any(id) : fmt::format("({} != splat({}))", real(id), literal(0));
  if (n.type == value_class::boolean) return any(id);
  return fmt::format("({} != 0)", any(id));
}

std::string emission::integer(int id) {
  return p->nodes[at(id)].type == value_class::real ? real(id) : "int64_t(" + any(id) + ")";
}

}  // namespace kernsmith::agents::nest
