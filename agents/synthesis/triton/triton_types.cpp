// Names of types and constants in Triton, and the masks of tiles.
#include <fmt/format.h>

#include <cmath>

#include "agents/synthesis/triton/triton_expression.hpp"

namespace kernsmith::agents::triton {

std::string triton_type(dtype type) {
  switch (type) {
    case dtype::f64:
      return "tl.float64";
    case dtype::f32:
      return "tl.float32";
    case dtype::f16:
      return "tl.float16";
    case dtype::bf16:
      return "tl.bfloat16";
    case dtype::f8e4m3:
      return "tl.float8e4nv";
    case dtype::f8e5m2:
      return "tl.float8e5";
    case dtype::i64:
      return "tl.int64";
    case dtype::i32:
      return "tl.int32";
    case dtype::i16:
      return "tl.int16";
    case dtype::i8:
      return "tl.int8";
    case dtype::u8:
      return "tl.uint8";
    case dtype::boolean:
      return "tl.int1";
  }
  return "tl.float32";
}

std::string torch_type(dtype type) {
  switch (type) {
    case dtype::f8e4m3:
      return "torch.float8_e4m3fn";
    case dtype::f8e5m2:
      return "torch.float8_e5m2";
    case dtype::boolean:
      return "torch.bool";
    default:
      return "torch." + triton_type(type).substr(3);
  }
}

std::string extent_name(const tensor_ir& ir, const dim& d) {
  return d.axis >= 0 ? ir.axes[static_cast<std::size_t>(d.axis)].name : std::to_string(d.constant);
}

std::string real_constant(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string tile::mask(tile_axes axes) const {
  std::string text;
  for (std::size_t axis = 0; axis < live.size(); ++axis)
    if ((axes >> axis & 1U) != 0 && !live[axis].empty()) text += (text.empty() ? "" : " & ") + live[axis];
  return text;
}

}  // namespace kernsmith::agents::triton
