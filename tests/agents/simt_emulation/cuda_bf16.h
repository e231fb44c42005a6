// Stand-in, see cuda_runtime.h beside this.
#pragma once

#include <cstdint>
#include <cstring>

struct __nv_bfloat16 {
  uint16_t x = 0;
};
static inline uint16_t __bfloat16_as_ushort(__nv_bfloat16 h) { return h.x; }
static inline __nv_bfloat16 __float2bfloat16_rn(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  __nv_bfloat16 h;
  h.x = x != x ? 0x7fff : uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  return h;
}
