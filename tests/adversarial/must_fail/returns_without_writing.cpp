// expect: unwritten
// problem: affine
// effort: search
// origin: contract
// why: does nothing and hopes for outputs that are right already
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  return 0;
}
