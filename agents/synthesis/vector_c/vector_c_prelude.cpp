#include "agents/synthesis/vector_c/vector_c_prelude.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace kernsmith::agents::vector_c {
namespace {

const char* const bits_text = R"(static inline float ks_float(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t ks_bits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

)";

const char* const conversions_text = R"(static inline float ks_from_bf16(uint16_t stored) { return ks_float((uint32_t)stored << 16); }

// To nearest, ties to even, as all conversions here.
static inline uint16_t ks_to_bf16(float value) {
  const uint32_t bits = ks_bits(value);
  if (value != value) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float ks_from_f16(uint16_t stored) {
  const uint32_t sign = (uint32_t)(stored & 0x8000u) << 16, size = stored & 0x7fffu;
  if (size >= 0x7c00u) return ks_float(sign | 0x7f800000u | (size & 0x3ffu) << 13);
  return ks_float(sign | ks_bits(ks_float(size << 13) * 0x1p112f));
}

static inline uint16_t ks_to_f16(float value) {
  const uint32_t bits = ks_bits(value), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (size < 0x38800000u) return (uint16_t)(sign | (ks_bits(ks_float(size) + 0.5f) - 0x3f000000u));
  return (uint16_t)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13);
}

// 8-bit floats: stored fraction bits, least normal exponent.
static inline float ks_from_f8(uint8_t bits, int fraction, int least, int has_infinity) {
  const int size = bits & 0x7f, exponent = size >> fraction, rest = size & ((1 << fraction) - 1);
  float value = exponent == 0 ? ldexpf((float)rest, least - fraction)
                              : ldexpf((float)((1 << fraction) + rest), exponent - 1 + least - fraction);
  if (has_infinity && exponent == 127 >> fraction) value = rest != 0 ? NAN : INFINITY;
  if (!has_infinity && size == 0x7f) value = NAN;
  return bits & 0x80 ? -value : value;
}

static inline uint8_t ks_to_f8(float value, int fraction, int least, float largest, int beyond) {
  const int sign = signbit(value) ? 0x80 : 0;
  const float size = fabsf(value);
  if (value != value) return (uint8_t)(sign | 0x7f);
  if (size == 0) return (uint8_t)sign;
  if (isinf(size)) return (uint8_t)(sign | beyond);
  const int exponent = ilogbf(size) < least ? least : ilogbf(size);
  const float units = nearbyintf(ldexpf(size, fraction - exponent));
  if (ldexpf(units, exponent - fraction) > largest) return (uint8_t)(sign | beyond);
  return (uint8_t)(sign | ((int)units + ((exponent - least) << fraction)));
}

static inline float ks_from_f8e4m3(uint8_t bits) { return ks_from_f8(bits, 3, -6, 0); }
static inline float ks_from_f8e5m2(uint8_t bits) { return ks_from_f8(bits, 2, -14, 1); }
static inline uint8_t ks_to_f8e4m3(float value) { return ks_to_f8(value, 3, -6, 448.0f, 0x7f); }
static inline uint8_t ks_to_f8e5m2(float value) { return ks_to_f8(value, 2, -14, 57344.0f, 0x7c); }

)";

const char* const arithmetic_text = R"(// Truncated and saturated; NaN becomes 0.
static inline int64_t ks_saturated(double value, int64_t low, int64_t high) {
  if (value != value) return 0;
  return value <= (double)low ? low : value >= (double)high ? high : (int64_t)value;
}

static inline int64_t ks_clamped(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

static inline int64_t ks_absolute(int64_t value) { return value < 0 ? -value : value; }
static inline int ks_inside(int64_t position, int64_t extent) { return position >= 0 && position < extent; }

// A NaN on either side wins.
static inline float ks_larger_f32(float a, float b) { return a > b || a != a ? a : b; }
static inline float ks_smaller_f32(float a, float b) { return a < b || a != a ? a : b; }
static inline double ks_larger_f64(double a, double b) { return a > b || a != a ? a : b; }
static inline double ks_smaller_f64(double a, double b) { return a < b || a != a ? a : b; }
static inline int64_t ks_larger_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t ks_smaller_i64(int64_t a, int64_t b) { return a < b ? a : b; }

)";

/// exp(x) = 2^n p(x - n ln 2) with n the nearest integer to x / ln 2. The polynomials are minimax on [-ln 2 / 2, ln 2 / 2] for the
/// relative error, fitted for this file: 7.6e-8 (degree 5) and 1.9e-9 (degree 6) before rounding.
std::string exp_text(std::int64_t degree, std::int64_t group) {
  const std::string type = fmt::format("vfloat32m{}_t", group), f = fmt::format("f32m{}", group), i = fmt::format("i32m{}", group),
                    mask = fmt::format("b{}", 32 / group);
  const char* const five[] = {"0.00829763338f", "0.0419155285f", "0.166675761f", "0.499988943f", "0.999999702f", "1.00000012f"};
  const char* const six[] = {"0.00138368143f", "0.00837484095f", "0.0416682288f", "0.166664198f", "0.499999911f", "1.0f", "1.0f"};
  std::string text = fmt::format(
      "// exp to about {} units in the last place, over the whole range; NaN stays NaN.\n"
      "static inline {type} ks_exp{degree}_m{group}({type} x, size_t vl) {{\n"
      "  // Beyond these bounds the result is infinite or 0 whatever the rest says.\n"
      "  const {type} inside = vfmin_vf_{f}(vfmax_vf_{f}(x, -120.0f, vl), 120.0f, vl);\n"
      "  const vint32m{group}_t n = vfcvt_x_f_v_{i}(vfmul_vf_{f}(inside, 1.44269504f, vl), vl);\n"
      "  const {type} whole = vfcvt_f_x_v_{f}(n, vl);\n"
      "  // ln 2 in two parts, so that the difference keeps its digits.\n"
      "  {type} r = vfnmsac_vf_{f}(inside, 0.693359375f, whole, vl);\n"
      "  r = vfnmsac_vf_{f}(r, -2.12194440e-4f, whole, vl);\n"
      "  {type} p = vfmv_v_f_{f}({first}, vl);\n",
      degree == 5 ? "2" : "1", fmt::arg("type", type), fmt::arg("degree", degree), fmt::arg("group", group), fmt::arg("f", f),
      fmt::arg("i", i), fmt::arg("first", degree == 5 ? five[0] : six[0]));
  for (std::int64_t k = 1; k <= degree; ++k)
    text += fmt::format("  p = vfmadd_vv_{0}(p, r, vfmv_v_f_{0}({1}, vl), vl);\n", f, degree == 5 ? five[k] : six[k]);
  text += fmt::format(
      "  // 2^n in two factors: n may lie beyond what one exponent holds.\n"
      "  const vint32m{group}_t half = vsra_vx_{i}(n, 1, vl), rest = vsub_vv_{i}(n, half, vl);\n"
      "  p = vfmul_vv_{f}(p, vreinterpret_v_{i}_{f}(vsll_vx_{i}(vadd_vx_{i}(half, 127, vl), 23, vl)), vl);\n"
      "  p = vfmul_vv_{f}(p, vreinterpret_v_{i}_{f}(vsll_vx_{i}(vadd_vx_{i}(rest, 127, vl), 23, vl)), vl);\n"
      "  return vmerge_vvm_{f}(vmfne_vv_{f}_{mask}(x, x, vl), p, x, vl);\n"
      "}}\n\n",
      fmt::arg("group", group), fmt::arg("f", f), fmt::arg("i", i), fmt::arg("mask", mask));
  return text;
}

}  // namespace

std::string_view conversion_functions_text() {
  return conversions_text;
}

std::string_view arithmetic_functions_text() {
  return arithmetic_text;
}

std::string exp_piece(std::int64_t degree, std::int64_t group) {
  return fmt::format("exp{}_m{}", degree, group);
}

std::string c_prelude_text(const std::set<std::string>& pieces) {
  std::string text;
  if (pieces.contains("scalar")) text += std::string(bits_text) + conversions_text + arithmetic_text;
  for (const std::int64_t degree : {5, 6}) {
    for (const std::int64_t group : {1, 2, 4, 8}) {
      if (pieces.contains(exp_piece(degree, group))) text += exp_text(degree, group);
    }
  }
  return text;
}

}  // namespace kernsmith::agents::vector_c
