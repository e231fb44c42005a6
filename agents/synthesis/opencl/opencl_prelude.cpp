#include "agents/synthesis/opencl/opencl_prelude.hpp"

#include <fmt/format.h>

#include <array>

#include "agents/synthesis/vector_c/c_emission.hpp"
#include "agents/synthesis/vector_c/vector_c_prelude.hpp"

namespace kernsmith::agents::opencl {
namespace {

constexpr std::array widths = {2, 4, 8, 16};

const char* const types_text = R"(#pragma OPENCL EXTENSION cl_khr_fp64 : enable

typedef long ks_ix;
typedef long int64_t;
typedef int int32_t;
typedef short int16_t;
typedef char int8_t;
typedef uint uint32_t;
typedef ushort uint16_t;
typedef uchar uint8_t;
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define INT16_MIN SHRT_MIN
#define INT16_MAX SHRT_MAX
#define INT8_MIN CHAR_MIN
#define INT8_MAX CHAR_MAX
#define UINT8_MAX UCHAR_MAX

)";

// The shared scalar functions call C's.
const char* const bits_text = R"(#define ldexpf ldexp
#define ilogbf ilogb
#define fabsf fabs
#define nearbyintf rint
static inline float ks_float(uint32_t bits) { return as_float(bits); }
static inline uint32_t ks_bits(float value) { return as_uint(value); }

)";

const char* const halves_text =
    R"(static inline float{n} ks_from_bf16x{n}(ushort{n} stored) {{ return as_float{n}(convert_uint{n}(stored) << 16); }}
static inline ushort{n} ks_to_bf16x{n}(float{n} value) {{
  const uint{n} bits = as_uint{n}(value), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  return convert_ushort{n}(isnan(value) ? bits >> 16 | 0x40u : rounded);
}}
static inline float{n} ks_from_f16x{n}(ushort{n} stored) {{
  const uint{n} sign = convert_uint{n}(stored & (ushort)0x8000) << 16, size = convert_uint{n}(stored & (ushort)0x7fff);
  const uint{n} finite = as_uint{n}(as_float{n}(size << 13) * 0x1p112f), special = (uint{n})(0x7f800000u) | (size & 0x3ffu) << 13;
  return as_float{n}(sign | (size >= 0x7c00u ? special : finite));
}}
static inline ushort{n} ks_to_f16x{n}(float{n} value) {{
  const uint{n} bits = as_uint{n}(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  const uint{n} small = as_uint{n}(as_float{n}(size) + 0.5f) - 0x3f000000u, usual = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
  const uint{n} finite = size < 0x38800000u ? small : usual;
  const uint{n} rest = size > 0x7f800000u ? (uint{n})(0x7e00u) : (uint{n})(0x7c00u);
  return convert_ushort{n}(sign | (size >= 0x477ff000u ? rest : finite));
}}
)";

/// How two values become one.
std::string folded(const std::string& how, const std::string& type, int width, const std::string& a, const std::string& b) {
  if (how == "sum") return fmt::format("{} + {}", a, b);
  if (how == "product") return fmt::format("{} * {}", a, b);
  if (how == "or") return fmt::format("{} | {}", a, b);
  if (how == "and") return fmt::format("{} & {}", a, b);
  if (how == "largest") return fmt::format("max({}, {})", a, b);
  if (how == "smallest") return fmt::format("min({}, {})", a, b);
  if (width == 1) return fmt::format("ks_{}_{}({}, {})", how, type == "float" ? "f32" : "f64", a, b);
  return fmt::format("ks_{}_{}{}({}, {})", how, type, width, a, b);
}

std::string fold_text(const std::string& how, const std::string& type, int width) {
  std::string text = fmt::format("static inline {1} ks_fold_{0}_{1}{2}({1}{2} v) {{\n", how, type, width);
  std::string from = "v";
  for (int half = width / 2; half >= 1; half /= 2) {
    const std::string value = folded(how, type, half, from + (half == 1 ? ".x" : ".lo"), from + (half == 1 ? ".y" : ".hi"));
    if (half == 1) {
      text += fmt::format("  return {};\n", value);
    } else {
      text += fmt::format("  const {0}{1} v{1} = {2};\n", type, half, value);
      from = fmt::format("v{}", half);
    }
  }
  return text + "}\n";
}

bool calls(const std::string& text, const std::string& name) {
  return text.find(name + "(") != std::string::npos;
}

std::string folds_text(const std::string& functions) {
  std::string text;
  for (const char* how : {"sum", "product", "larger", "smaller", "or", "and", "largest", "smallest"})
    for (const char* type : {"float", "double", "int", "long"})
      for (const int width : widths)
        if (calls(functions, fmt::format("ks_fold_{}_{}{}", how, type, width))) text += fold_text(how, type, width);
  return text;
}

std::string extrema_text(const std::string& functions) {
  std::string text;
  for (const char* how : {"larger", "smaller"})
    for (const char* type : {"float", "double"})
      for (const int width : widths)
        if (calls(functions, fmt::format("ks_{}_{}{}", how, type, width)))
          text += fmt::format("static inline {1}{2} ks_{0}_{1}{2}({1}{2} a, {1}{2} b) {{ return a {3} b || a != a ? a : b; }}\n", how, type,
                              width, *how == 'l' ? ">" : "<");
  return text.empty() ? text : "// A NaN on either side wins.\n" + text;
}

/// Of positive bases by exponentials, an error of some |exponent * log(base)| units; the others as they are.
std::string powers_text(const std::string& functions) {
  std::string text;
  for (const char* width : {"", "2", "4", "8", "16"})
    if (calls(functions, fmt::format("ks_fast_pow{}", width)))
      text += fmt::format(
          "static inline float{0} ks_fast_pow{0}(float{0} x, float{0} y) {{\n"
          "  if ({1}) return exp(y * log(x));\n"
          "  return pow(x, y);\n"
          "}}\n",
          width, *width == 0 ? "x > 0 && x < INFINITY" : "all(x > 0 && x < INFINITY)");
  return text;
}

/// Of single elements.
bool calls_conversions(const std::string& functions) {
  for (const char* type : {"f16", "bf16", "f8e4m3", "f8e5m2"})
    if (calls(functions, fmt::format("ks_from_{}", type)) || calls(functions, fmt::format("ks_to_{}", type))) return true;
  return false;
}

std::string halves_of(const std::string& functions) {
  std::string text;
  for (const int width : widths)
    for (const char* name : {"ks_from_f16x", "ks_to_f16x", "ks_from_bf16x", "ks_to_bf16x"}) {
      if (!calls(functions, fmt::format("{}{}", name, width))) continue;
      text += fmt::format(fmt::runtime(halves_text), fmt::arg("n", width));
      break;
    }
  return text;
}

}  // namespace

std::string opencl_prelude_text(const std::string& functions) {
  const std::string folds = folds_text(functions), extrema = extrema_text(functions + folds);
  std::string text = types_text;
  if (calls_conversions(functions)) text.append(bits_text).append(vector_c::conversion_functions_text());
  if (vector_c::calls_scalar_prelude(functions + folds)) text.append(vector_c::arithmetic_functions_text());
  text += halves_of(functions) + extrema + powers_text(functions) + folds;
  return text;
}

}  // namespace kernsmith::agents::opencl
