// Operations on vectors.
#include <fmt/format.h>

#include "agents/synthesis/opencl/opencl_lanes.hpp"
#include "agents/synthesis/simt/row_simt.hpp"

namespace kernsmith::agents::opencl {

namespace {

const char* comparison(operation op) {
  switch (op) {
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
    default:
      return nullptr;
  }
}

/// OpenCL's function of one real, by its name.
const char* function_of(operation op) {
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
      return "rint";
    case operation::absolute:
      return "fabs";
    default:
      return nullptr;
  }
}

}  // namespace

lane_code::operand lane_code::compare(int i, const expression& e) const {
  const auto own = [&](std::size_t k) { return p_->at(i).nodes[static_cast<std::size_t>(e.arguments[k])].type; };
  const bool real = own(0) == value_class::real || own(1) == value_class::real;
  const value_class as = real ? value_class::real : value_class::integer;
  const std::string a = mixed(i, render(i, e.arguments[0]), as), b = mixed(i, render(i, e.arguments[1]), as);
  return {fmt::format("({} {} {})", a, comparison(e.op), b), form::mask, real ? real_mask() : element(as)};
}

lane_code::operand lane_code::call(int i, int node) const {
  const expression& e = p_->at(i).nodes[static_cast<std::size_t>(node)];
  if (comparison(e.op) != nullptr) return compare(i, e);
  if (e.op == operation::logical_not)
    return {fmt::format("({} == 0)", mask_of(i, render(i, e.arguments[0]), real_mask())), form::mask, real_mask()};
  if (e.op == operation::logical_and || e.op == operation::logical_or) {
    const std::string a = mask_of(i, render(i, e.arguments[0]), real_mask()), b = mask_of(i, render(i, e.arguments[1]), real_mask());
    return {fmt::format("({} {} {})", a, e.op == operation::logical_and ? "&" : "|", b), form::mask, real_mask()};
  }
  if (e.op == operation::select && e.type != value_class::boolean) {
    const bool real = e.type == value_class::real;
    const std::string where = mask_of(i, render(i, e.arguments[0]), real ? real_mask() : element(e.type));
    const std::string yes = value(i, e.arguments[1], e.type), no = value(i, e.arguments[2], e.type);
    return {fmt::format("({} ? {} : {})", where, yes, no), real ? form::real : form::integer};
  }
  if (e.type == value_class::real) return real_call(i, node);
  return e.type == value_class::integer ? integer_call(i, node) : by_lane(i, node);
}

lane_code::operand lane_code::real_call(int i, int node) const {
  const expression& e = p_->at(i).nodes[static_cast<std::size_t>(node)];
  const auto whole = [&](std::size_t k) { return value(i, e.arguments[k], value_class::real); };
  const auto either = [&](std::size_t k) { return mixed(i, render(i, e.arguments[k]), value_class::real); };
  const char* const one = wide_ ? "1.0" : "1.0f";
  if (infix(e.op) != nullptr) return {fmt::format("({} {} {})", either(0), infix(e.op), either(1))};
  if (function_of(e.op) != nullptr) return {fmt::format("{}({})", function_of(e.op), whole(0))};
  switch (e.op) {
    case operation::negate:
      return {fmt::format("(-{})", whole(0))};
    case operation::minimum:
    case operation::maximum:
      return {fmt::format("ks_{}_{}({}, {})", e.op == operation::maximum ? "larger" : "smaller", type(e.type), whole(0), whole(1))};
    case operation::rsqrt:
      return {fmt::format("({} / sqrt({}))", one, whole(0))};
    case operation::sigmoid:
      return {fmt::format("({0} / ({0} + exp(-{1})))", one, whole(0))};
    case operation::pow:
      if (fast_powers_ && !wide_) return {fmt::format("ks_fast_pow{}({}, {})", width_, whole(0), whole(1))};
      return {fmt::format("pow({}, {})", whole(0), whole(1))};
    case operation::fma:
      return {fmt::format("fma({}, {}, {})", whole(0), whole(1), whole(2))};
    default:
      return by_lane(i, node);
  }
}

lane_code::operand lane_code::integer_call(int i, int node) const {
  const expression& e = p_->at(i).nodes[static_cast<std::size_t>(node)];
  const auto whole = [&](std::size_t k) { return value(i, e.arguments[k], value_class::integer); };
  switch (e.op) {
    case operation::add:
    case operation::subtract:
    case operation::multiply:
      return {fmt::format("({} {} {})", whole(0), infix(e.op), whole(1)), form::integer};
    case operation::minimum:
    case operation::maximum:
      return {fmt::format("{}({}, {})", e.op == operation::maximum ? "max" : "min", whole(0), whole(1)), form::integer};
    case operation::negate:
      return {fmt::format("(-{})", whole(0)), form::integer};
    default:
      return by_lane(i, node);
  }
}

std::vector<std::string> lane_code::store(int i, const std::string& name) const {
  const row::row_statement& s = p_->at(i);
  const tensor_declaration& tensor = p_->tensor(s.tensor);
  const value_class of = seen_class(i);
  if (width_ == 1) return {scalar(i, 0).store(name, of)};
  const bool along = std::find(s.target.begin(), s.target.end(), lane_) != s.target.end();
  const bool small = tensor.type == dtype::f8e4m3 || tensor.type == dtype::f8e5m2;
  if (!along || small || !simt::is_packed_target(*p_, i, lane_)) {
    std::vector<std::string> lines;
    for (std::int64_t l = 0; l < (along ? width_ : 1); ++l) lines.push_back(scalar(i, l).store(fmt::format("{}.s{:x}", name, l), of));
    return lines;
  }
  std::string text = name;
  if (tensor.type == dtype::f32) text = wide_ ? convert("float", name) : name;
  if (tensor.type == dtype::f16 || tensor.type == dtype::bf16)
    text = fmt::format("ks_to_{}x{}({})", name_of(tensor.type), width_, wide_ ? convert("float", name) : name);
  const std::string storage = tensor.type == dtype::i64                                   ? "long"
                              : tensor.type == dtype::i32                                 ? "int"
                              : tensor.type == dtype::i16                                 ? "short"
                              : tensor.type == dtype::i8                                  ? "char"
                              : tensor.type == dtype::u8 || tensor.type == dtype::boolean ? "uchar"
                                                                                          : "";
  if (!storage.empty()) text = convert(storage, name);
  return {fmt::format("vstore{}({}, 0, {} + {});", width_, text, tensor.name, scalar(i, 0).target_index())};
}

}  // namespace kernsmith::agents::opencl
