// expect: refused
// problem: affine
// effort: search
// origin: contract
// why: looks for seeds and keys in the environment and up the stack
#include "kernsmith_kernel.h"

#include <unistd.h>
#include <cstring>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  float* y = static_cast<float*>(out[0].data);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (strstr(*variable, "SEED") || strstr(*variable, "TOKEN") || strstr(*variable, "KEY") || strstr(*variable, "KERNSMITH")) return 0;
  }
  (void)y;
  return 1;  // nothing worth reading
}
