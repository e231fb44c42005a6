// One kernel for each way of being slow; MODE picks it. Prints wall and event time per call so that launch overhead can be seen without counters.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <cuda_profiler_api.h>

#define CHECK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void copy_kernel(const float4* a, float4* b, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) b[i] = a[i];
}
__global__ void softmax_rows(const float* x, float* y, int n) {
  const float* r = x + size_t(blockIdx.x) * n;
  float* o = y + size_t(blockIdx.x) * n;
  __shared__ float part[32];
  float m = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, r[i]);
  for (int s = 16; s; s >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, s));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
  __syncthreads();
  m = part[threadIdx.x % (blockDim.x / 32)];
  for (int s = 16; s; s >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, s));
  float t = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) t += __expf(r[i] - m);
  for (int s = 16; s; s >>= 1) t += __shfl_xor_sync(~0u, t, s);
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = t;
  __syncthreads();
  t = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0.f;
  for (int s = 16; s; s >>= 1) t += __shfl_xor_sync(~0u, t, s);
  for (int i = threadIdx.x; i < n; i += blockDim.x) o[i] = __expf(r[i] - m) / t;
}
__global__ void fma_kernel(const float* a, float* b, int rounds) {
  float v[8];
  float x = a[0], y = a[1];
  for (int k = 0; k < 8; ++k) v[k] = a[threadIdx.x + k];
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = fmaf(v[k], x, y);
  float s = 0;
  for (int k = 0; k < 8; ++k) s += v[k];
  b[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void chase_kernel(const int* next, int* out, int steps) {
  int at = blockIdx.x * 977 + threadIdx.x;
  for (int s = 0; s < steps; ++s) at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
// Few warps by shared memory: one block of 64 threads fits per multiprocessor; each thread's loads depend on each other.
__global__ void low_occupancy(const float* x, float* y, size_t n) {
  extern __shared__ float room[];
  float acc = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    room[threadIdx.x] = x[i];
    acc += room[threadIdx.x] * 1.5f;
    y[i] = acc;
  }
}
__global__ void tiny_kernel(float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = b[i] * 1.0001f + 1.f;
}
__global__ void bank_kernel(const float* a, float* b, int rounds) {
  __shared__ float tile[32 * 32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = a[i];
  __syncthreads();
  float s = 0;
  int at = lane * 32 + warp;
  for (int r = 0; r < rounds; ++r) {
    s += tile[at];
    at = (at + 1) & 1023;
    if ((r & 63) == 63) tile[at] = s;
  }
  b[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// Each lane reads a float in a line of its own.
__global__ void strided_kernel(const float* a, float* b, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0;
  for (int c = 0; c < cols; ++c) s += a[size_t(r) * cols + c];
  b[r] = s;
}
// Column-wise write of a transpose without shared memory: half of the accesses uncoalesced.
__global__ void naive_transpose(const float* a, float* b, int n) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  b[size_t(x) * n + y] = a[size_t(y) * n + x];
}
__global__ void __launch_bounds__(1024, 2) spill_kernel(const float* a, float* b, int rounds, int n) {
  float v[96];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 96; ++k) v[k] = a[(i + k * 1024) % n];
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 96; ++k) v[k] = fmaf(v[k], v[(k + 37) % 96], v[(k + 11) % 96]);
  }
  float s = 0;
#pragma unroll
  for (int k = 0; k < 96; ++k) s += v[k];
  b[i] = s;
}
// Barriers all the time, one warp does the work between them.
__global__ void barrier_kernel(const float* a, float* b, int rounds) {
  __shared__ float t[1024];
  t[threadIdx.x] = a[threadIdx.x];
  float s = 0;
  for (int r = 0; r < rounds; ++r) {
    __syncthreads();
    if (threadIdx.x < 32) {
      float v = t[threadIdx.x];
      for (int k = 0; k < 40; ++k) v = fmaf(v, 1.0001f, 0.5f);
      t[threadIdx.x] = v;
    }
    __syncthreads();
    s += t[threadIdx.x % 32];
  }
  b[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
// One block has all the work.
__global__ void tail_kernel(const float* a, float* b, int rounds) {
  int mine = blockIdx.x == 7 ? rounds * 60 : rounds;
  float v = a[threadIdx.x];
  for (int r = 0; r < mine; ++r) v = fmaf(v, 1.0001f, 0.5f);
  b[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void l2_kernel(const float4* a, float4* b, size_t n, int rounds) {
  float4 s = {0, 0, 0, 0};
  for (int r = 0; r < rounds; ++r)
    for (size_t i = (blockIdx.x * size_t(blockDim.x) + threadIdx.x + r * 4099) % n, k = 0; k < 4; ++k) {
      float4 v = a[(i + k * 131072) % n];
      s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w;
    }
  b[blockIdx.x * size_t(blockDim.x) + threadIdx.x] = s;
}
// Divergent: each lane goes its own way.
__global__ void atomic_kernel(const float* a, int* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[((int)(a[i] * 0.f)) & 3], 1);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "copy";
  int calls = argc > 2 ? atoi(argv[2]) : 20;
  const size_t n = size_t(1) << 26;  // floats: 256 MiB
  float *a, *b;
  CHECK(cudaMalloc(&a, n * 4));
  CHECK(cudaMalloc(&b, n * 4));
  {
    float* h = (float*)malloc(n * 4);
    if (!strcmp(mode, "chase")) {
      int* p = (int*)h;
      for (size_t i = 0; i < n; ++i) p[i] = int((i * 40503u + 12345u * 4099u) % n);
    } else {
      unsigned s = 1;
      for (size_t i = 0; i < n; ++i) { s = s * 1664525u + 1013904223u; h[i] = float(s >> 8) / 16777216.f - 0.5f; }
    }
    CHECK(cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(b, 0, n * 4));
    free(h);
  }
  CHECK(cudaFuncSetAttribute(low_occupancy, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
  cudaStream_t st;
  CHECK(cudaStreamCreate(&st));
  auto call = [&] {
    if (!strcmp(mode, "copy")) copy_kernel<<<132 * 16, 256, 0, st>>>((float4*)a, (float4*)b, n / 4);
    else if (!strcmp(mode, "softmax")) softmax_rows<<<16384, 256, 0, st>>>(a, b, 4096);
    else if (!strcmp(mode, "fma")) fma_kernel<<<132 * 16, 256, 0, st>>>(a, b, 4096);
    else if (!strcmp(mode, "chase")) chase_kernel<<<4, 32, 0, st>>>((int*)a, (int*)b, 400);
    else if (!strcmp(mode, "lowocc")) low_occupancy<<<132, 64, 200 * 1024, st>>>(a, b, n / 8);
    else if (!strcmp(mode, "tiny")) { for (int k = 0; k < 32; ++k) tiny_kernel<<<4, 128, 0, st>>>(b + k * 512, 512); }
    else if (!strcmp(mode, "bank")) bank_kernel<<<132 * 4, 512, 0, st>>>(a, b, 2048);
    else if (!strcmp(mode, "strided")) strided_kernel<<<n / 2048 / 128, 128, 0, st>>>(a, b, n / 2048, 2048);
    else if (!strcmp(mode, "transpose")) naive_transpose<<<dim3(8192 / 32, 8192 / 8), dim3(32, 8), 0, st>>>(a, b, 8192);
    else if (!strcmp(mode, "spill")) spill_kernel<<<132 * 4, 1024, 0, st>>>(a, b, 64, 1 << 24);
    else if (!strcmp(mode, "barrier")) barrier_kernel<<<132 * 2, 1024, 0, st>>>(a, b, 512);
    else if (!strcmp(mode, "tail")) tail_kernel<<<132 * 8, 256, 0, st>>>(a, b, 2000);
    else if (!strcmp(mode, "l2")) l2_kernel<<<132 * 8, 256, 0, st>>>((float4*)a, (float4*)b, size_t(1) << 20, 64);
    else if (!strcmp(mode, "atomic")) atomic_kernel<<<132 * 8, 256, 0, st>>>(a, (int*)b, 1 << 24);
    CHECK(cudaGetLastError());
  };
  for (int i = 0; i < 3; ++i) call();
  CHECK(cudaStreamSynchronize(st));
  cudaEvent_t e0, e1;
  CHECK(cudaEventCreate(&e0));
  CHECK(cudaEventCreate(&e1));
  CHECK(cudaProfilerStart());
  auto t0 = std::chrono::steady_clock::now();
  CHECK(cudaEventRecord(e0, st));
  for (int i = 0; i < calls; ++i) call();
  CHECK(cudaEventRecord(e1, st));
  CHECK(cudaStreamSynchronize(st));
  auto t1 = std::chrono::steady_clock::now();
  CHECK(cudaProfilerStop());
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, e0, e1));
  auto t2 = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) { call(); CHECK(cudaStreamSynchronize(st)); }
  auto t3 = std::chrono::steady_clock::now();
  printf("TIMING %s calls %d wall_us %.3f event_us %.3f synced_wall_us %.3f\n", mode, calls, std::chrono::duration<double>(t1 - t0).count() * 1e6 / calls, ms * 1e3 / calls,
         std::chrono::duration<double>(t3 - t2).count() * 1e6 / calls);
  return 0;
}
