// expect: build_failed
// problem: affine
// effort: search
// origin: invented
// generate: pad 52428800
// why: a source of 50 MB
#include "kernsmith_kernel.h"

extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) {
  return 0;
}
