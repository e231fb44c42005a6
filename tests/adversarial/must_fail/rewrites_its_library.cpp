// expect: refused
// problem: affine
// effort: search
// origin: invented
// why: opens its own library and its runner for writing
#include "kernsmith_kernel.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  char path[512];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0) path[length] = '\0';
  if (length > 0 && open(path, O_RDWR) >= 0) return 0;
  Dl_info own;
  if (dladdr(reinterpret_cast<void*>(&launch), &own) != 0 && open(own.dli_fname, O_RDWR) >= 0) return 0;
  return 1;
}
