// expect: crashed
// problem: affine
// effort: search
// origin: invented
// why: an exception that nobody catches
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  throw 1;
}
