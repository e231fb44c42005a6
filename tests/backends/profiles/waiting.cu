// The host waits for the device between two short kernels: bound by synchronisation.
#include "kernsmith_kernel.h"

__global__ void scale(const float* x, float* y, int64_t first, int64_t last) {
  const int64_t i = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < last) y[i] = 2 * x[i];
}

extern "C" int launch(const ks_tensor* in, int, ks_tensor* out, int, ks_launch* ctx) {
  const int64_t n = in[0].shape[0], half = (n + 1) / 2;
  const cudaStream_t stream = static_cast<cudaStream_t>(ctx->stream);
  for (int64_t first = 0; first < n; first += half) {
    const int64_t last = first + half < n ? first + half : n;
    scale<<<(unsigned)((last - first + 127) / 128), 128, 0, stream>>>(static_cast<const float*>(in[0].data), static_cast<float*>(out[0].data), first, last);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return 1;
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
