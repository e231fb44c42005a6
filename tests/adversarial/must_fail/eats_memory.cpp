// expect: resource_limit
// problem: affine
// effort: search
// origin: contract
// why: takes memory until somebody stops it
#include "kernsmith_kernel.h"

#include <cstdlib>
#include <cstring>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  for (;;) {
    void* const block = malloc(32u << 20);
    if (block == nullptr) return 1;
    memset(block, 1, 32u << 20);
  }
}
