// Stand-in, see cuda_runtime.h beside this.
#pragma once

#include <cstdint>
#include <cstring>

struct __half_raw {
  uint16_t x;
};
struct __half {
  uint16_t x = 0;
  __half() = default;
  explicit __half(__half_raw raw) : x(raw.x) {}
};
static inline __half __ushort_as_half(uint16_t bits) { return __half(__half_raw{bits}); }
static inline uint16_t __half_as_ushort(__half h) { return h.x; }
static inline float __half2float(__half h) {
  _Float16 value;
  std::memcpy(&value, &h.x, 2);
  return float(value);
}
static inline __half __float2half_rn(float x) {
  const _Float16 value = _Float16(x);
  __half h;
  std::memcpy(&h.x, &value, 2);
  return h;
}
