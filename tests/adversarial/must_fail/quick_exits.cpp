// expect: crashed
// problem: affine
// effort: search
// origin: contract
// why: quick_exit(0) with a handler that prints success
#include "kernsmith_kernel.h"

#include <cstdio>
#include <cstdlib>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  at_quick_exit([] { puts("PASS"); });
  quick_exit(0);
}
