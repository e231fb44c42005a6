// Forty multiply-adds for each element in registers, repeated over few bytes: bound by arithmetic.
#include "kernsmith_kernel.h"

__global__ void polynomial(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float t = x[i];
  float a = t;
  // Each round computes the same answer; the compiler can't know that, since the rounds' start depends on the answer before.
  for (int round = 0; round < 64; ++round) {
    a = round == 0 ? t : (a == 12345.f ? a : t);
#pragma unroll
    for (int k = 0; k < 40; ++k) a = fmaf(a, t, static_cast<float>(k % 8 + 1));
  }
  y[i] = a;
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const int64_t n = in[0].shape[0];
  polynomial<<<(unsigned)((n + 255) / 256), 256, 0, static_cast<cudaStream_t>(ctx->stream)>>>(static_cast<const float*>(in[0].data),
                                                                                              static_cast<float*>(out[0].data), n);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
