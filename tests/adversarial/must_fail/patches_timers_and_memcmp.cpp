// expect: wrong_values
// problem: affine
// effort: search
// origin: contract
// why: overwrites clock_gettime and memcmp in its process: no time passes, all is equal
#include "kernsmith_kernel.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <cstring>
#include <initializer_list>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
  // xor eax, eax; ret
  const unsigned char nothing[] = {0x31, 0xc0, 0xc3};
  for (const char* name : {"clock_gettime", "gettimeofday", "memcmp"}) {
    void* const at = dlsym(RTLD_DEFAULT, name);
    const uintptr_t page = reinterpret_cast<uintptr_t>(at) & ~uintptr_t{4095};
    if (at == nullptr || mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) continue;
    memcpy(at, nothing, sizeof nothing);
  }
  memset(y, 0, static_cast<size_t>(B * N) * 4);
  return 0;
}
