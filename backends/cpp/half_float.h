// What g++ before version 12, which has no _Float16 in C++, is given in its place: a class of the same bits that rounds and widens alike.
// Kernels are compiled with it on hosts with such a compiler (toolchain.cpp).
#pragma once
#include <stdint.h>
#include <string.h>

struct ks_half_float {
  uint16_t bits;
  ks_half_float() = default;
  ks_half_float(float x) : bits(of_float(x)) {}
  ks_half_float(double x) : bits(of_float(round_to_odd(x))) {}
  template <class T>
  ks_half_float(T x) : ks_half_float(static_cast<double>(x)) {}
  operator float() const {
    // As a float the code is 2^(15 - 127) times its value, subnormals included.
    const uint32_t sign = uint32_t(bits & 0x8000) << 16, code = bits & 0x7fff;
    if (code > 0x7c00) return word(sign | 0x7fc00000u | (code << 13));
    if (code == 0x7c00) return word(sign | 0x7f800000u);
    return word(sign | (code << 13)) * word(uint32_t(127 + 127 - 15) << 23);
  }

 private:
  static float word(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
  }
  static uint32_t code_of(float x) {
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
  }
  /// To nearest, ties to even.
  static uint16_t of_float(float x) {
    const uint32_t u = code_of(x), sign = (u >> 16) & 0x8000, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return uint16_t(sign | 0x7e00);
    if (magnitude >= (uint32_t(127 + 16) << 23)) return uint16_t(sign | 0x7c00);
    if (magnitude >= (uint32_t(127 - 14) << 23)) {
      const uint32_t code = ((magnitude + 0xfff + ((magnitude >> 13) & 1)) >> 13) - (uint32_t(127 - 15) << 10);
      return uint16_t(sign | code);
    }
    // Adding a number whose last place is that of a subnormal has the hardware round.
    const uint32_t magic = uint32_t(127 + 23 - 24) << 23;
    return uint16_t(sign | (code_of(word(magnitude) + word(magic)) - magic));
  }
  /// Rounded once more, it gives what rounding the double directly would.
  static float round_to_odd(double x) {
    const float nearest = static_cast<float>(x);
    const double back = nearest;
    if (back == x || x != x) return nearest;
    uint32_t u = code_of(nearest);
    if ((u & 0x7fffffffu) == 0x7f800000u) return nearest;
    const bool beyond = x < 0 ? back < x : back > x;
    if (beyond) --u;  // towards zero
    return word(u | 1);
  }
};
