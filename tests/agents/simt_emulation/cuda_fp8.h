// Stand-in, see cuda_runtime.h beside this: 8-bit floats by looking for the nearest of all their values.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda_fp16.h"

enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };

/// The value of a code's magnitude; NaN codes give NaN, E5M2's infinity its power of two.
static inline float fp8_magnitude(int code, __nv_fp8_interpretation_t kind) {
  const int fraction_bits = kind == __NV_E4M3 ? 3 : 2, bias = kind == __NV_E4M3 ? 7 : 15;
  if (kind == __NV_E4M3 ? code == 0x7f : code > 0x7c) return NAN;
  const int exponent = code >> fraction_bits, fraction = code & ((1 << fraction_bits) - 1);
  if (exponent == 0) return std::ldexp(float(fraction), 1 - bias - fraction_bits);
  return std::ldexp(float(fraction + (1 << fraction_bits)), exponent - bias - fraction_bits);
}

static inline uint8_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t, __nv_fp8_interpretation_t kind) {
  if (x != x) return 0x7f;
  const int largest = kind == __NV_E4M3 ? 0x7e : 0x7b;
  const double magnitude = std::fabs(double(x));
  int best = 0;
  for (int code = 1; code <= largest; ++code) {
    const double distance = std::fabs(double(fp8_magnitude(code, kind)) - magnitude);
    const double least = std::fabs(double(fp8_magnitude(best, kind)) - magnitude);
    if (distance < least || (distance == least && code % 2 == 0)) best = code;
  }
  return uint8_t(best | (std::signbit(x) ? 0x80 : 0));
}

static inline __half_raw __nv_cvt_fp8_to_halfraw(uint8_t code, __nv_fp8_interpretation_t kind) {
  const float magnitude = fp8_magnitude(code & 0x7f, kind);
  return {uint16_t(__half_as_ushort(__float2half_rn(magnitude)) | (code & 0x80 ? 0x8000 : 0))};
}
