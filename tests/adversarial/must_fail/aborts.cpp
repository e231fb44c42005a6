// expect: crashed
// problem: affine
// effort: search
// origin: contract
// why: abort()
#include "kernsmith_kernel.h"

#include <cstdlib>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  abort();
}
