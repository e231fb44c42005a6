// expect: crashed
// problem: affine
// effort: search
// origin: contract
// why: _exit(0): an exit status that says all is well
#include "kernsmith_kernel.h"

#include <unistd.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  _exit(0);
}
