// expect: resource_limit
// problem: affine
// effort: search
// origin: invented
// why: starts threads until somebody stops it
#include "kernsmith_kernel.h"

#include <unistd.h>
#include <thread>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  for (;;) {
    try {
      std::thread([] {
        for (;;) pause();
      }).detach();
    } catch (...) {
      usleep(1000);
    }
  }
}
