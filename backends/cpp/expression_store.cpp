// What becomes of values: accumulators of reductions and scans, and the store into a statement's target.
#include <fmt/format.h>

#include "backends/cpp/expression_text.hpp"

namespace kernsmith::cpp {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

std::string expression_text::identity(int node) const {
  const expression& e = s_.nodes[at(node)];
  const value_type type = accumulator_type(node);
  const bool real = type == value_type::f32 || type == value_type::f64;
  const std::string limits = fmt::format("std::numeric_limits<{}>", type_text(type));
  switch (e.reducer) {
    case reduction::sum:
      return "0";
    case reduction::prod:
      return "1";
    case reduction::max:
      return real ? fmt::format("-{}::infinity()", limits) : fmt::format("{}::lowest()", limits);
    case reduction::min:
      return real ? fmt::format("{}::infinity()", limits) : fmt::format("{}::max()", limits);
    case reduction::all:
      return "true";
    default:
      return "false";
  }
}

std::string expression_text::combine(int node, const std::string& so_far, const std::string& next) const {
  const expression& e = s_.nodes[at(node)];
  const value_type type = accumulator_type(node);
  const bool wraps = type == value_type::i64 && mode_ == arithmetic::wide;
  switch (e.reducer) {
    case reduction::sum:
      return wraps ? fmt::format("wrap_add({}, {})", so_far, next) : fmt::format("{} + {}", so_far, next);
    case reduction::prod:
      return wraps ? fmt::format("wrap_mul({}, {})", so_far, next) : fmt::format("{} * {}", so_far, next);
    case reduction::max:
      return fmt::format("larger<{}>({}, {})", type_text(type), so_far, next);
    case reduction::min:
      return fmt::format("smaller<{}>({}, {})", type_text(type), so_far, next);
    case reduction::all:
      return fmt::format("{} & {}", so_far, next);
    default:
      return fmt::format("{} | {}", so_far, next);
  }
}

std::string expression_text::target_index(const bindings& b) const {
  const tensor_declaration& tensor = p_.tensors[at(s_.target)];
  std::string index;
  for (std::size_t d = 0; d < s_.target_indices.size(); ++d) {
    const std::string& name = b.variables[at(s_.target_indices[d])];
    index = index.empty() ? name : fmt::format("({}) * {} + {}", index, extent_text(p_, tensor.shape[d]), name);
  }
  return index.empty() ? "0" : index;
}

std::string expression_text::store(const bindings& b) const {
  const tensor_declaration& tensor = p_.tensors[at(s_.target)];
  const value_type own = type_of(s_.root);
  const bool rounded = tensor.role == tensor_role::intermediate ? tensor.type_declared : mode_ == arithmetic::native;
  const bool real_root = own == value_type::f32 || own == value_type::f64;
  std::string text;
  if (is_float(tensor.type)) {
    const value_type into = mode_ == arithmetic::wide || tensor.type == dtype::f64 ? value_type::f64 : value_type::f32;
    text = value_as(s_.root, real_root ? own : into, b);
    if (rounded) {
      switch (tensor.type) {
        case dtype::f32:
          text = fmt::format("static_cast<float>({})", text);
          break;
        case dtype::f16:
          text = fmt::format("static_cast<_Float16>({})", text);
          break;
        case dtype::bf16:
          text = fmt::format("to_bf16({})", text);
          break;
        case dtype::f8e4m3:
          text = fmt::format("to_f8e4m3({})", text);
          break;
        case dtype::f8e5m2:
          text = fmt::format("to_f8e5m2({})", text);
          break;
        default:
          break;
      }
      if (mode_ == arithmetic::wide) {
        if (tensor.type == dtype::bf16) text = fmt::format("from_bf16({})", text);
        if (tensor.type == dtype::f8e4m3) text = fmt::format("from_f8e4m3({})", text);
        if (tensor.type == dtype::f8e5m2) text = fmt::format("from_f8e5m2({})", text);
      }
    }
    if (mode_ == arithmetic::wide) text = fmt::format("static_cast<double>({})", text);
  } else if (tensor.type == dtype::boolean) {
    text = fmt::format("static_cast<{}>({} ? 1 : 0)", mode_ == arithmetic::wide ? "int64_t" : "uint8_t",
                       value_as(s_.root, value_type::boolean, b));
  } else if (real_root) {  // a real stored as an integer saturates in the integer's own range, whatever it is kept in
    text = fmt::format("saturated<{}>({})", storage_type(tensor.type), value(s_.root, b));
    if (mode_ == arithmetic::native) text = fmt::format("static_cast<{}>({})", storage_type(tensor.type), text);
  } else {
    text = value_as(s_.root, value_type::i64, b);
    if (rounded) text = fmt::format("static_cast<{}>({})", storage_type(tensor.type), text);
    if (mode_ == arithmetic::wide && rounded) text = fmt::format("static_cast<int64_t>({})", text);
  }
  return fmt::format("{}[{}] = {};", tensor_name(p_, s_.target), target_index(b), text);
}

}  // namespace kernsmith::cpp
