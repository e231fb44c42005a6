// expect: passed
// problem: long_sum
// effort: strict
// origin: invented
// why: heap, stack and thread-local memory used to the last element, unaligned copies and wrapping unsigned numbers
#include "kernsmith_kernel.h"

#include <cstdint>
#include <cstring>
#include <memory>

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const float* x = static_cast<const float*>(in[0].data);
  float* y = static_cast<float*>(out[0].data);
  const long B = ctx->axes[0], N = ctx->axes[1];
#pragma omp parallel for
  for (long b = 0; b < B; ++b) {
    thread_local double lanes[8];
    const auto copy = std::make_unique<unsigned char[]>(static_cast<std::size_t>(N) * sizeof(float) + 1);
    std::memcpy(copy.get() + 1, x + b * N, static_cast<std::size_t>(N) * sizeof(float));
    for (double& lane : lanes) lane = 0;
    std::uint32_t hash = 2166136261u;
    for (long n = 0; n < N; ++n) {
      float value = 0;
      std::memcpy(&value, copy.get() + 1 + static_cast<std::size_t>(n) * sizeof(float), sizeof value);
      hash = (hash ^ static_cast<std::uint32_t>(n)) * 16777619u;
      lanes[hash % 8] += value;
    }
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    y[b] = static_cast<float>(sum);
  }
  return 0;
}
