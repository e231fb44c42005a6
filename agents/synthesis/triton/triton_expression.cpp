#include "agents/synthesis/triton/triton_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "agents/synthesis/expression_tools.hpp"

namespace kernsmith::agents::triton {
namespace {

template <class T>
const T& at(const std::vector<T>& all, int id) {
  return all[static_cast<std::size_t>(id)];
}

// How tightly Python binds, loosest first.
constexpr int binds_comparison = 1, binds_or = 2, binds_and = 3, binds_sum = 4, binds_product = 5, binds_unary = 6, binds_primary = 7;

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
      return {"<", binds_comparison};
    case operation::less_equal:
      return {"<=", binds_comparison};
    case operation::greater:
      return {">", binds_comparison};
    case operation::greater_equal:
      return {">=", binds_comparison};
    case operation::equal:
      return {"==", binds_comparison};
    case operation::not_equal:
      return {"!=", binds_comparison};
    case operation::logical_and:
      return {"&", binds_and};
    default:
      return {"|", binds_or};
  }
}

std::string_view function_of(operation op) {
  switch (op) {
    case operation::exp:
      return "tl.exp";
    case operation::log:
      return "tl.log";
    case operation::log1p:
      return "ks_log1p";
    case operation::expm1:
      return "ks_expm1";
    case operation::sqrt:
      return "tl.sqrt";
    case operation::rsqrt:
      return "tl.rsqrt";
    case operation::tanh:
      return "ks_tanh";
    case operation::erf:
      return "tl.erf";
    case operation::sigmoid:
      return "tl.sigmoid";
    case operation::sin:
      return "tl.sin";
    case operation::cos:
      return "tl.cos";
    case operation::floor:
      return "tl.floor";
    case operation::ceil:
      return "tl.ceil";
    case operation::round:
      return "ks_round";
    default:
      return "";
  }
}

bool is_comparison(operation op) {
  return op >= operation::less && op <= operation::not_equal;
}

double number_of(const expression& e) {
  return e.type == value_class::real ? e.number : static_cast<double>(e.integer);
}

bool is_number(const expression& e, double value) {
  return e.kind == expression_kind::number && number_of(e) == value;
}

}  // namespace

/// Text, its class, how tightly its outermost operator binds; `constant`: a number of Python's, not a tensor.
struct tile_expression::piece {
  std::string text;
  value_class type = value_class::real;
  int binds = binds_primary;
  bool constant = false;

  [[nodiscard]] std::string inside(int outer) const { return binds < outer ? "(" + text + ")" : text; }
};

std::string tile_expression::type_text(value_class type) const {
  return type == value_class::real ? real_type() : type == value_class::integer ? "tl.int64" : "tl.int1";
}

std::string tile_expression::value(int node, value_class type) const {
  return render_as(node, type).text;
}

std::string tile_expression::tensor_value(int node, value_class type) const {
  return as_tensor(render_as(node, type)).inside(binds_primary);
}

std::string tile_expression::named_value(int node, value_class type) const {
  return as_tensor(render_as(node, type)).text;
}

std::string tile_expression::loaded(int node) const {
  return render_load(node).text;
}

std::string tile_expression::raw_load(int node) const {
  const expression& e = at(s_.nodes, node);
  const tensor_declaration& tensor = at(ir_.tensors, e.symbol);
  std::vector<std::string> positions;
  std::string mask = tile_.mask(axes_of(node));
  for (std::size_t d = 0; d < e.indices.size(); ++d) {
    positions.push_back(position(e.indices[d]));
    const int variable = sole_index(e.indices[d]);
    const bool inside = variable >= 0 && at(s_.variables, variable).extent == tensor.shape[d];
    if (!tensor.pad || inside) continue;
    const std::string extent = extent_name(ir_, tensor.shape[d]);
    mask += fmt::format("{0}({1} >= 0) & ({1} < {2})", mask.empty() ? "" : " & ", positions.back(), extent);
  }
  const std::string pointer = fmt::format("{} + {}", tensor.name, linear(tensor, positions));
  if (mask.empty()) return fmt::format("tl.load({})", pointer);
  std::string outside = is_float(tensor.type) ? "0.0" : "0";
  if (tensor.pad && is_float(tensor.type)) outside = real_constant(*tensor.pad);
  if (tensor.pad && !is_float(tensor.type)) outside = std::to_string(static_cast<std::int64_t>(*tensor.pad));
  return fmt::format("tl.load({}, mask={}, other={})", pointer, mask, outside);
}

std::string tile_expression::store(const std::string& value, value_class type) const {
  const tensor_declaration& target = at(ir_.tensors, s_.target);
  std::vector<std::string> positions;
  tile_axes axes = along_nothing;
  for (const int id : s_.target_indices) {
    positions.push_back(tile_.indices.at(id).text);
    axes |= tile_.indices.at(id).axes;
  }
  const std::string mask = tile_.mask(axes), pointer = fmt::format("{} + {}", target.name, linear(target, positions));
  std::string stored = value;
  if (is_float(target.type) && size_of(target.type) == 1) stored = narrowed(value, target.type);
  if (target.type == dtype::bf16 && wide_) stored = value + ".to(tl.float32)";
  if (is_integer(target.type) && type == value_class::boolean) stored = fmt::format("{}.to({})", value, triton_type(target.type));
  return fmt::format("tl.store({}, {}{})", pointer, stored, mask.empty() ? "" : ", mask=" + mask);
}

std::string tile_expression::rounded(const std::string& value, value_class from, dtype to) const {
  if (to == dtype::boolean) return from == value_class::boolean ? value : value + " != 0";
  if (is_integer(to))
    return to == dtype::i64 ? fmt::format("{}.to(tl.int64)", value) : fmt::format("{}.to({}).to(tl.int64)", value, triton_type(to));
  if (to == dtype::f64 || (to == dtype::f32 && !wide_))
    return from == value_class::real ? value : fmt::format("{}.to({})", value, real_type());
  return widened(narrowed(value, to), to);
}

/// A value of a float type as a real.
std::string tile_expression::widened(const std::string& value, dtype from) const {
  const bool by_single = wide_ && size_of(from) == 1;
  return fmt::format("{}{}.to({})", value, by_single ? ".to(tl.float32)" : "", real_type());
}

/// Conversions start from float32, the only type from which all of them can be compiled and interpreted.
std::string tile_expression::narrowed(const std::string& value, dtype to) const {
  const std::string from = to == dtype::f16 || !wide_ ? value : value + ".to(tl.float32)";
  if (to == dtype::f8e4m3 || to == dtype::f8e5m2)
    return fmt::format("{}({}.to(tl.float32))", to == dtype::f8e4m3 ? "ks_to_e4m3" : "ks_to_e5m2", value);
  return fmt::format("{}.to({})", from, triton_type(to));
}

tile_axes tile_expression::axes_of(int node) const {
  tile_axes axes = along_nothing;
  for (const int v : variables_of(s_, node))
    if (const auto found = tile_.indices.find(v); found != tile_.indices.end()) axes |= found->second.axes;
  return axes;
}

tile_expression::piece tile_expression::as_tensor(piece p) const {
  if (!p.constant) return p;
  return {fmt::format("tl.full((), {}, {})", p.text, type_text(p.type)), p.type};
}

tile_expression::piece tile_expression::convert(piece p, value_class type) const {
  if (p.type == type) return p;
  if (p.constant) {
    if (type == value_class::boolean) return {p.inside(binds_comparison + 1) + " != 0", type, binds_comparison, true};
    if (p.type == value_class::boolean) return {fmt::format("int({})", p.text), type, binds_primary, true};
    return {p.text, type, p.binds, true};
  }
  if (type == value_class::boolean) return {p.inside(binds_comparison + 1) + " != 0", type, binds_comparison};
  return {fmt::format("{}.to({})", p.inside(binds_primary), type_text(type)), type};
}

tile_expression::piece tile_expression::render_as(int node, value_class type) const {
  const expression& e = at(s_.nodes, node);
  if (e.kind == expression_kind::number && type == value_class::real) return render_number(number_of(e));
  return convert(render(node), type);
}

/// An operand of a function: constants would become tensors of float32 or int32 there.
tile_expression::piece tile_expression::argument(int node, value_class type) const {
  const expression& e = at(s_.nodes, node);
  piece p = render_as(node, type);
  const bool literal = e.kind == expression_kind::number && (type != value_class::real || !wide_);
  return literal && type != value_class::boolean ? p : as_tensor(std::move(p));
}

tile_expression::piece tile_expression::render_number(double value) const {
  const std::string text = real_constant(value);
  return {text, value_class::real, text.front() == '-' ? binds_unary : binds_primary, true};
}

tile_expression::piece tile_expression::render(int node) const {
  const expression& e = at(s_.nodes, node);
  switch (e.kind) {
    case expression_kind::number:
      if (e.type == value_class::real) return render_number(e.number);
      if (e.type == value_class::boolean) return {e.integer != 0 ? "True" : "False", e.type, binds_primary, true};
      return {std::to_string(e.integer), e.type, e.integer < 0 ? binds_unary : binds_primary, true};
    case expression_kind::index:
      return {fmt::format("{}.to(tl.int64)", tile_.indices.at(e.symbol).text), value_class::integer};
    case expression_kind::axis:
      return {at(ir_.axes, e.symbol).name, value_class::integer, binds_primary, true};
    case expression_kind::load:
      if (at_hand_)
        if (std::optional<std::string> text = at_hand_(node)) return {*text, e.type};
      return render_load(node);
    case expression_kind::cast:
      return render_cast(e);
    case expression_kind::call:
      return render_call(e);
    case expression_kind::reduce:
    case expression_kind::scan:
      break;  // always roots
  }
  return {"0", value_class::integer, binds_primary, true};
}

tile_expression::piece tile_expression::render_load(int node) const {
  const tensor_declaration& tensor = at(ir_.tensors, at(s_.nodes, node).symbol);
  const std::string raw = raw_load(node);
  if (tensor.type == dtype::boolean) return {raw + " != 0", value_class::boolean, binds_comparison};
  if (is_integer(tensor.type)) return {tensor.type == dtype::i64 ? raw : raw + ".to(tl.int64)", value_class::integer};
  return {triton_type(tensor.type) == real_type() ? raw : widened(raw, tensor.type), value_class::real};
}

tile_expression::piece tile_expression::render_cast(const expression& e) const {
  const int operand = e.arguments[0];
  const value_class from = at(s_.nodes, operand).type;
  if (e.cast_to == dtype::boolean) return render_as(operand, value_class::boolean);
  if (!is_integer(e.cast_to)) {
    if (e.cast_to == dtype::f64 || (e.cast_to == dtype::f32 && !wide_)) return render_as(operand, value_class::real);
    return {rounded(tensor_value(operand, value_class::real), value_class::real, e.cast_to), value_class::real};
  }
  const value_class by = from == value_class::real ? from : value_class::integer;
  if (by == value_class::integer && e.cast_to == dtype::i64) return render_as(operand, by);
  if (by == value_class::integer) {
    const std::optional<integer_range> range = range_of(ir_.tensors, s_, operand);
    if (range && static_cast<double>(range->low) >= lowest_value(e.cast_to) &&
        static_cast<double>(range->high) <= -1 - lowest_value(e.cast_to))
      return render_as(operand, by);
  }
  const int bits = static_cast<int>(size_of(e.cast_to)) * 8;
  const std::string low = e.cast_to == dtype::u8 ? "0" : fmt::format("-2**{}", bits - 1);
  const std::string high = e.cast_to == dtype::u8 ? "255" : fmt::format("2**{} - 1", bits - 1);
  const std::string_view function = by == value_class::real ? "ks_truncate" : "ks_saturate";
  return {fmt::format("{}({}, {}, {})", function, as_tensor(render_as(operand, by)).text, low, high), value_class::integer};
}

/// Indices, constants: what is compared without leaving the type of positions.
bool tile_expression::is_plain_index(int node) const {
  const expression& e = at(s_.nodes, node);
  return e.kind == expression_kind::index || e.kind == expression_kind::axis ||
         (e.kind == expression_kind::number && e.type == value_class::integer);
}

tile_expression::piece tile_expression::render_comparison(const expression& e) const {
  const infix op = infix_of(e.op);
  const int left = e.arguments[0], right = e.arguments[1];
  const bool real = at(s_.nodes, left).type == value_class::real || at(s_.nodes, right).type == value_class::real;
  const value_class type = real ? value_class::real : value_class::integer;
  const bool plain = is_plain_index(left) && is_plain_index(right);
  const auto side = [&](int node) {
    const expression& operand = at(s_.nodes, node);
    if (plain && operand.kind == expression_kind::index) return piece{tile_.indices.at(operand.symbol).text, value_class::integer};
    return render_as(node, type);
  };
  piece a = side(left), b = side(right);
  if (a.constant && b.constant) a = as_tensor(a);
  const std::string text = fmt::format("{} {} {}", a.inside(op.binds + 1), op.symbol, b.inside(op.binds + 1));
  // Triton's interpreter takes a scalar comparison of reals for a real where it meets a tile.
  const bool scalar = real && (axes_of(left) | axes_of(right)) == along_nothing;
  return {scalar ? fmt::format("({}).to(tl.int32) != 0", text) : text, value_class::boolean, op.binds};
}

tile_expression::piece tile_expression::render_infix(const expression& e, value_class type) const {
  const infix op = infix_of(e.op);
  const piece a = render_as(e.arguments[0], type), b = render_as(e.arguments[1], type);
  return {fmt::format("{} {} {}", a.inside(op.binds), op.symbol, b.inside(op.binds + 1)), e.type, op.binds, a.constant && b.constant};
}

tile_expression::piece tile_expression::render_power(const expression& e) const {
  const expression& exponent = at(s_.nodes, e.arguments[1]);
  const std::string base = tensor_value(e.arguments[0], value_class::real);
  if (is_number(exponent, 1)) return {base};
  if (is_number(exponent, 2)) return {fmt::format("ks_square({})", base)};
  if (is_number(exponent, 3)) return {fmt::format("ks_cube({})", base)};
  return {fmt::format("ks_pow({}, {})", base, as_tensor(render_as(e.arguments[1], value_class::real)).text)};
}

tile_expression::piece tile_expression::render_call(const expression& e) const {
  const value_class number = e.type == value_class::boolean ? value_class::integer : e.type;
  switch (e.op) {
    case operation::select: {
      piece yes = argument(e.arguments[1], e.type), no = argument(e.arguments[2], e.type);
      if (yes.constant && no.constant) yes = as_tensor(yes);
      const std::string condition = as_tensor(render_as(e.arguments[0], value_class::boolean)).text;
      return {fmt::format("tl.where({}, {}, {})", condition, yes.text, no.text), e.type};
    }
    case operation::minimum:
    case operation::maximum: {
      const bool real = number == value_class::real, larger = e.op == operation::maximum;
      piece a = argument(e.arguments[0], number), b = argument(e.arguments[1], number);
      if (a.constant && b.constant) a = as_tensor(a);
      return {fmt::format("{}({}, {}{})", larger ? "tl.maximum" : "tl.minimum", a.text, b.text,
                          real ? ", propagate_nan=tl.PropagateNan.ALL" : ""),
              number};
    }
    case operation::logical_not:
      return {"~" + as_tensor(render_as(e.arguments[0], value_class::boolean)).inside(binds_unary), e.type, binds_unary};
    case operation::logical_and:
    case operation::logical_or: {
      const infix op = infix_of(e.op);
      const piece a = as_tensor(render_as(e.arguments[0], value_class::boolean)),
                  b = as_tensor(render_as(e.arguments[1], value_class::boolean));
      return {fmt::format("{} {} {}", a.inside(op.binds), op.symbol, b.inside(op.binds + 1)), e.type, op.binds};
    }
    case operation::negate: {
      const piece p = render_as(e.arguments[0], number);
      return {"-" + p.inside(binds_unary), number, binds_unary, p.constant};
    }
    case operation::absolute:
      return {fmt::format("tl.abs({})", as_tensor(render_as(e.arguments[0], number)).text), number};
    case operation::fma: {
      const piece a = render_as(e.arguments[0], number), b = render_as(e.arguments[1], number), c = render_as(e.arguments[2], number);
      return {fmt::format("{} * {} + {}", a.inside(binds_product), b.inside(binds_product + 1), c.inside(binds_sum + 1)), number, binds_sum,
              a.constant && b.constant && c.constant};
    }
    case operation::pow:
      return render_power(e);
    default:
      break;
  }
  if (is_comparison(e.op)) return render_comparison(e);
  const std::string_view function = function_of(e.op);
  if (function.empty()) return render_infix(e, number);
  if (number == value_class::integer) return render_as(e.arguments[0], number);  // floor, ceil, round
  return {fmt::format("{}({})", function, as_tensor(render_as(e.arguments[0], value_class::real)).text)};
}

std::string tile_expression::position(const index_expression& index) const {
  if (!index.is_affine) return render_as(index.gather, value_class::integer).inside(binds_sum);
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
    std::string what = term.index >= 0 ? tile_.indices.at(term.index).text : "";
    for (const int a : term.axes) what += (what.empty() ? "" : " * ") + at(ir_.axes, a).name;
    append(term.coefficient, what);
  }
  if (index.constant != 0 || text.empty()) append(index.constant, "");
  return text;
}

std::string tile_expression::linear(const tensor_declaration& tensor, const std::vector<std::string>& positions) const {
  const auto is_simple = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  };
  if (positions.empty()) return "0";
  std::string text = positions[0];
  for (std::size_t d = 1; d < positions.size(); ++d)
    text = fmt::format("{} * {} + {}", is_simple(text) ? text : "(" + text + ")", extent_name(ir_, tensor.shape[d]), positions[d]);
  return is_simple(text) ? text : "(" + text + ")";
}

}  // namespace kernsmith::agents::triton
