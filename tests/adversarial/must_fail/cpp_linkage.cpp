// expect: build_failed
// problem: affine
// effort: search
// origin: invented
// why: launch with C++ linkage
#include "kernsmith_kernel.h"

int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) {
  return 0;
}
