// expect: crashed
// problem: affine
// effort: search
// origin: invented
// why: __builtin_trap: an illegal instruction, yet nothing that this processor lacks
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  __builtin_trap();
}
