// expect: crashed
// problem: affine
// effort: search
// origin: contract
// why: writes "done" to the result descriptor and computes nothing
#include "kernsmith_kernel.h"

#include <unistd.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  (void)x;
  struct {
    unsigned kind;
    int code;
    unsigned count, reserved;
    unsigned long sequence, value;
    double time;
  } done = {2, 0, 1, 0, 1, 0, 1};
  for (int fd = 3; fd < 16; ++fd)
    for (done.sequence = 1; done.sequence < 64; ++done.sequence) (void)!write(fd, &done, sizeof done);
  return 0;
}
