// expect: refused
// problem: affine
// effort: search
// origin: contract
// why: a fork bomb; the sandbox gives it no first child
#include "kernsmith_kernel.h"

#include <unistd.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  int children = 0;
  for (int i = 0; i < 1000; ++i) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) pause();
    children += child > 0;
  }
  return children == 0 ? 1 : 0;
}
