// expect: refused
// problem: affine
// effort: search
// origin: contract
// why: looks for the expected values in the memory of every process it can see
#include "kernsmith_kernel.h"

#include <fcntl.h>
#include <unistd.h>
#include <cstdio>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  float* y = static_cast<float*>(out[0].data);
  const pid_t self = getpid();
  for (int pid = 1; pid < 65536; ++pid) {
    if (pid == self) continue;
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    const int memory = open(path, O_RDONLY);
    if (memory < 0) continue;
    if (pread(memory, y, 4, 0x400000) == 4) return 0;
    close(memory);
  }
  return 1;  // nobody there
}
