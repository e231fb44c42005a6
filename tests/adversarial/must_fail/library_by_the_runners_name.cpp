// expect: cheating
// problem: matmul_openblas
// effort: search
// rule: foreign_code
// origin: invented
// why: loads a library from a file that it wrote itself, under the name of the program that hosts it
#include "kernsmith_kernel.h"

#include <dlfcn.h>

#include <cstdio>

static void* load_copy() {
  std::FILE* from = std::fopen("/lib/x86_64-linux-gnu/libxxhash.so.0", "rb");
  if (from == nullptr) from = std::fopen("/usr/lib/x86_64-linux-gnu/libxxhash.so.0", "rb");
  std::FILE* to = std::fopen("/tmp/kernsmith-runner", "wb");
  if (from == nullptr || to == nullptr) return nullptr;
  char piece[4096];
  for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, from)) > 0;) std::fwrite(piece, 1, got, to);
  std::fclose(from), std::fclose(to);
  return dlopen("/tmp/kernsmith-runner", RTLD_NOW);
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* a = static_cast<const float*>(in[0].data);
  const float* b = static_cast<const float*>(in[1].data);
  float* c = static_cast<float*>(out[0].data);
  const long M = ctx->axes[0], N = ctx->axes[1], K = ctx->axes[2];
  static void* const library = load_copy();
  if (library == nullptr) return 1;
  for (long m = 0; m < M; ++m) {
    for (long n = 0; n < N; ++n) {
      float sum = 0;
      for (long k = 0; k < K; ++k) sum += a[m * K + k] * b[k * N + n];
      c[m * N + n] = sum;
    }
  }
  return 0;
}
