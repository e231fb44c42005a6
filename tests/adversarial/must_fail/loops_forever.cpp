// expect: timeout
// problem: affine
// effort: search
// origin: contract
// why: never returns
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  for (volatile int go = 1; go;) {
  }
  return 0;
}
