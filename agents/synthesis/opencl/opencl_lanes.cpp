#include "agents/synthesis/opencl/opencl_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "agents/synthesis/row_grammar_range.hpp"
#include "agents/synthesis/scalar_expression.hpp"
#include "agents/synthesis/simt/row_simt.hpp"

namespace kernsmith::agents::opencl {

using vector_c::c_scalar;
using vector_c::c_storage_type;

namespace {

/// "name.s3": an element of a vector.
std::string element_of(const std::string& vector, std::int64_t lane) {
  return fmt::format("{}.s{:x}", vector, lane);
}

bool is_half(dtype type) {
  return type == dtype::f16 || type == dtype::bf16;
}

bool is_small_float(dtype type) {
  return is_half(type) || type == dtype::f8e4m3 || type == dtype::f8e5m2;
}

}  // namespace

bool lanes_are_wide(const simt::simt_program& p) {
  return p.rows.wide ||
         std::any_of(p.flat.statements.begin(), p.flat.statements.end(), [&](const statement& s) { return needs_double(p.flat, s); });
}

lane_code::lane_code(const simt::simt_program& p, int lane, std::int64_t width)
    : p_(&p), lane_(lane), width_(width), wide_(lanes_are_wide(p)), long_integers_(wide_ || row::numbers_indices(p.rows)) {}

lane_code lane_code::with_width(std::int64_t width) const {
  lane_code other(*p_, lane_, width);
  other.known_ = known_;
  if (wide_ && !other.wide_)
    for (auto& [i, known] : other.known_)
      if (seen_class(i) == value_class::real) known.name = "(float)" + known.name;
  other.fast_powers_ = fast_powers_;
  other.shifts_ = shifts_;
  return other;
}

void lane_code::shift(int index, std::int64_t by) {
  shifts_[index] = by;
  shifted_.clear();
}

std::string lane_code::element(value_class of) const {
  if (of == value_class::real) return wide_ ? "double" : "float";
  return width_ == 1 ? "int64_t" : long_integers_ ? "long" : "int";
}

std::string lane_code::type(value_class of) const {
  return width_ == 1 ? element(of) : fmt::format("{}{}", element(of), width_);
}

const statement& lane_code::shifted(int i, std::int64_t lane) const {
  const auto [found, added] = shifted_.try_emplace({i, lane});
  if (added) {
    statement& s = found->second;
    s = p_->flat.statements[static_cast<std::size_t>(i)];
    std::map<int, std::int64_t> all = shifts_;
    if (lane > 0) all[lane_] += lane;
    for (const auto& [index, by] : all)
      if (by != 0) s.variables[static_cast<std::size_t>(index)].name = fmt::format("({} + {})", p_->class_name(index), by);
  }
  return found->second;
}

c_scalar lane_code::scalar(int i, std::int64_t lane) const {
  return {p_->flat, shifted(i, lane), [this, i, lane](int node) { return at_hand(i, node, lane); }, {vector_c::c_dialect::opencl, wide_}};
}

std::optional<std::string> lane_code::at_hand(int i, int node, std::int64_t lane) const {
  const expression& e = p_->at(i).nodes[static_cast<std::size_t>(node)];
  if (e.kind == expression_kind::call && e.op == operation::pow && e.type == value_class::real && fast_powers_ && !wide_) {
    const c_scalar arguments = scalar(i, lane);
    return fmt::format("ks_fast_pow({}, {})", arguments.value(e.arguments[0], e.type), arguments.value(e.arguments[1], e.type));
  }
  const int from = e.kind == expression_kind::load ? p_->rows.written_by(e.symbol) : -1;
  if (from < 0) return std::nullopt;
  if (const auto known = known_.find(from); known != known_.end())
    return known->second.each_lane ? element_of(known->second.name, lane) : known->second.name;
  // Maps that are not at hand are computed where they are wanted.
  const row::row_statement& s = p_->at(from);
  return "(" + seen_scalar(from, scalar(from, lane).value(s.value, s.type), s.type) + ")";
}

value_class lane_code::seen_class(int i) const {
  return simt::class_of(p_->tensor(p_->at(i).tensor).type);
}

std::string lane_code::seen_scalar(int i, const std::string& text, value_class from) const {
  const tensor_declaration& tensor = p_->tensor(p_->at(i).tensor);
  const value_class want = seen_class(i);
  std::string value = text;
  if (want == value_class::boolean)
    value = fmt::format("({} != 0)", text);
  else if (from != want)
    value = fmt::format("({})({})", want == value_class::real ? (wide_ ? "double" : "float") : "int64_t", text);
  if (tensor.role != tensor_role::intermediate || !tensor.type_declared || want == value_class::boolean) return value;
  if (is_small_float(tensor.type)) return fmt::format("ks_from_{0}(ks_to_{0}((float)({1})))", name_of(tensor.type), value);
  if (tensor.type == dtype::f32 && wide_) return fmt::format("(double)(float)({})", value);
  if (is_integer(tensor.type) && tensor.type != dtype::i64) return fmt::format("(int64_t)({})({})", c_storage_type(tensor.type), value);
  return value;
}

std::string lane_code::convert(const std::string& element, const std::string& text) const {
  return fmt::format("convert_{}{}({})", element, width_, text);
}

std::string lane_code::spread(const std::string& element, const std::string& text) const {
  return fmt::format("({}{})({})", element, width_, text);
}

/// To the nearest value of a small float, and back.
std::string lane_code::rounded(dtype to, const std::string& text) const {
  const std::string narrow = wide_ ? convert("float", text) : text;
  const std::string back = fmt::format("ks_from_{0}x{1}(ks_to_{0}x{1}({2}))", name_of(to), width_, narrow);
  return wide_ ? convert("double", back) : back;
}

std::string lane_code::seen(int i, const std::string& text, value_class from) const {
  if (width_ == 1) return seen_scalar(i, text, from);
  const tensor_declaration& tensor = p_->tensor(p_->at(i).tensor);
  const value_class want = seen_class(i);
  std::string value = text;
  if (want == value_class::boolean)
    value = from == value_class::boolean ? text : fmt::format("({} & 1)", convert(element(want), fmt::format("({} != 0)", text)));
  else if (want == value_class::real && from != want)
    value = convert(element(want), text);
  if (tensor.role != tensor_role::intermediate || !tensor.type_declared) return value;
  if (is_half(tensor.type)) return rounded(tensor.type, value);
  if (is_small_float(tensor.type)) {
    std::string lanes;
    for (std::int64_t l = 0; l < width_; ++l)
      lanes +=
          fmt::format("{0}ks_from_{1}(ks_to_{1}((float)({2})))", l > 0 ? ", " : "", name_of(tensor.type), element_of("(" + value + ")", l));
    return spread(element(want), lanes);
  }
  if (tensor.type == dtype::f32 && wide_) return convert("double", convert("float", value));
  if (is_integer(tensor.type) && tensor.type != dtype::i64 && (long_integers_ || tensor.type != dtype::i32)) {
    const std::string narrow = tensor.type == dtype::i32   ? "int"
                               : tensor.type == dtype::i16 ? "short"
                               : tensor.type == dtype::i8  ? "char"
                                                           : "uchar";
    return convert(element(want), convert(narrow, value));
  }
  return value;
}

bool lane_code::varies(int i, int node) const {
  if (width_ == 1) return false;
  if (row::depends_on(p_->rows, p_->at(i), node, lane_)) return true;
  bool found = false;
  row::walk(p_->at(i), node, [&](int below) {
    const expression& e = p_->at(i).nodes[static_cast<std::size_t>(below)];
    if (e.kind != expression_kind::load) return;
    const auto known = known_.find(p_->rows.written_by(e.symbol));
    found = found || (known != known_.end() && known->second.each_lane);
  });
  return found;
}

std::string lane_code::value(int i, int node, value_class as) const {
  if (width_ == 1) return scalar(i, 0).value(node, as);
  return converted(i, render(i, node), as);
}

/// As type(as), whatever it is.
std::string lane_code::converted(int i, const operand& o, value_class as) const {
  if (!o.each_lane) {
    const std::string text = scalar(i, 0).value(o.node, as);
    return spread(element(as), as == value_class::real ? text : fmt::format("({})({})", element(as), text));
  }
  switch (as) {
    case value_class::real:
      if (o.is == form::real) return o.text;
      return convert(element(as), o.is == form::integer ? o.text : fmt::format("({} & 1)", o.text));
    case value_class::integer:
      if (o.is == form::mask) return fmt::format("({} & 1)", o.mask == element(as) ? o.text : convert(element(as), o.text));
      return o.text;
    case value_class::boolean:
      return fmt::format("({} & 1)", mask_of(i, o, element(as)));
  }
  return o.text;
}

/// For operators that take a scalar on one side.
std::string lane_code::mixed(int i, const operand& o, value_class as) const {
  if (o.each_lane) return converted(i, o, as);
  const std::string text = scalar(i, 0).value(o.node, as);
  return as == value_class::real ? text : fmt::format("({})({})", element(as), text);
}

/// -1 where it holds, else 0, in elements of the given type.
std::string lane_code::mask_of(int i, const operand& o, const std::string& element) const {
  if (!o.each_lane) return spread(element, fmt::format("{} ? -1 : 0", scalar(i, 0).value(o.node, value_class::boolean)));
  std::string text = o.text, own = o.mask;
  if (o.is != form::mask) {
    text = fmt::format("({} != 0)", o.text);
    own = o.is == form::real ? real_mask() : this->element(value_class::integer);
  }
  return own == element ? text : convert(element, text);
}

lane_code::operand lane_code::render(int i, int node) const {
  const expression& e = p_->at(i).nodes[static_cast<std::size_t>(node)];
  if (!varies(i, node)) return {"", form::real, "", false, node};
  switch (e.kind) {
    case expression_kind::load:
      return load(i, node);
    case expression_kind::call:
      return call(i, node);
    case expression_kind::cast:
      return cast(i, node);
    default:
      return by_lane(i, node);
  }
}

lane_code::operand lane_code::by_lane(int i, int node) const {
  const value_class own = p_->at(i).nodes[static_cast<std::size_t>(node)].type;
  const value_class as = own == value_class::real ? own : value_class::integer;
  std::string lanes;
  for (std::int64_t l = 0; l < width_; ++l) {
    const std::string text = scalar(i, l).value(node, as);
    lanes += fmt::format("{}{}", l > 0 ? ", " : "", as == value_class::real ? text : fmt::format("({})({})", element(as), text));
  }
  return {spread(element(as), lanes), as == value_class::real ? form::real : form::integer};
}

lane_code::operand lane_code::load(int i, int node) const {
  const expression& e = p_->at(i).nodes[static_cast<std::size_t>(node)];
  if (const int from = p_->rows.written_by(e.symbol); from >= 0) {
    const form is = seen_class(from) == value_class::real ? form::real : form::integer;
    if (const auto known = known_.find(from); known != known_.end()) return {known->second.name, is};
    const row::row_statement& s = p_->at(from);
    const value_class as = s.type;
    return {"(" + seen(from, value(from, s.value, as), as) + ")", is};
  }
  const dtype type = p_->tensor(e.symbol).type;
  if (simt::is_packed(*p_, i, node, lane_) && type != dtype::f8e4m3 && type != dtype::f8e5m2) return packed(i, node);
  return by_lane(i, node);
}

/// Neighbours in memory.
lane_code::operand lane_code::packed(int i, int node) const {
  const tensor_declaration& tensor = p_->tensor(p_->at(i).nodes[static_cast<std::size_t>(node)].symbol);
  const std::string text = fmt::format("vload{}(0, {} + {})", width_, tensor.name, scalar(i, 0).linear_index(node));
  if (tensor.type == dtype::f64) return {text};
  if (tensor.type == dtype::f32) return {wide_ ? convert("double", text) : text};
  if (is_half(tensor.type)) {
    const std::string value = fmt::format("ks_from_{}x{}({})", name_of(tensor.type), width_, text);
    return {wide_ ? convert("double", value) : value};
  }
  return {convert(element(value_class::integer), text), form::integer};
}

lane_code::operand lane_code::cast(int i, int node) const {
  const expression& e = p_->at(i).nodes[static_cast<std::size_t>(node)];
  const bool from_real = p_->at(i).nodes[static_cast<std::size_t>(e.arguments[0])].type == value_class::real;
  if (e.cast_to == dtype::boolean) return {mask_of(i, render(i, e.arguments[0]), real_mask()), form::mask, real_mask()};
  if (is_integer(e.cast_to)) {
    if (from_real || e.cast_to != dtype::i64) return by_lane(i, node);
    return {converted(i, render(i, e.arguments[0]), value_class::integer), form::integer};
  }
  const std::string real = converted(i, render(i, e.arguments[0]), value_class::real);
  if (is_half(e.cast_to)) return {rounded(e.cast_to, real)};
  if (e.cast_to == dtype::f64 || (e.cast_to == dtype::f32 && !wide_)) return {real};
  return e.cast_to == dtype::f32 ? operand{convert("double", convert("float", real))} : by_lane(i, node);
}

}  // namespace kernsmith::agents::opencl
