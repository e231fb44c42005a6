// expect: crashed
// problem: affine
// effort: search
// origin: contract
// why: recursion without end
#include "kernsmith_kernel.h"

__attribute__((noipa)) static int deeper(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return deeper(depth + 1) + frame[0];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  return deeper(1) == 0 ? 1 : 0;
}
