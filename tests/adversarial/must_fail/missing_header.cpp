// expect: build_failed
// problem: affine
// effort: search
// origin: invented
// why: a library whose header is not installed
#include <no_such_library.h>
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) {
  return 0;
}
