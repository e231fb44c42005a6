// Prelude pieces "fast" and "search" of SIMT kernels.
#include "agents/synthesis/simt/simt_prelude_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view simt_fast_text =
    R"kernel(// ---- functions by the hardware's approximations of 2^x, log2(x) and 1 / x, whose results below 2^-126 are 0 ----
#if defined(__CUDA_ARCH__)
__device__ __forceinline__ float ks_unit_exp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ float ks_unit_log2(float x) {
  float r;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ float ks_unit_inverse(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
#else
__device__ __forceinline__ float ks_unit_exp2(float x) { return exp2f(x); }
__device__ __forceinline__ float ks_unit_log2(float x) { return __log2f(x); }
__device__ __forceinline__ float ks_unit_inverse(float x) { return __fdividef(1.0f, x); }
#endif
constexpr float ks_log2_of_e = 1.44269504f;

__device__ __forceinline__ float ks_fast_exp(float x) { return ks_unit_exp2(x * ks_log2_of_e); }
__device__ __forceinline__ float ks_fast_log(float x) { return __logf(x); }
__device__ __noinline__ float ks_rare_pow(float a, float b) { return powf(a, b); }
// Whatever isn't a normal power of a positive normal number goes the rare way.
__device__ __forceinline__ float ks_fast_pow(float a, float b) {
  const float exponent = b * ks_unit_log2(a);
  return a >= 1.17549435e-38f && fabsf(exponent) < 126.0f ? ks_unit_exp2(exponent) : ks_rare_pow(a, b);
}
__device__ __forceinline__ float ks_fast_sigmoid(float x) {
  return ks_unit_inverse(1.0f + ks_unit_exp2(ks_min<float>(x * -ks_log2_of_e, 126.0f)));
}
__device__ __forceinline__ float ks_fast_tanh(float x) {
  const float e = ks_unit_exp2(-2.0f * ks_log2_of_e * fabsf(x));
  return copysignf((1.0f - e) * ks_unit_inverse(1.0f + e), x);
}
// erfc(x) = 2^(-x p(x)) on [0, 4], with p fitted so that the largest error of erf is least: 3e-7.
__device__ __forceinline__ float ks_fast_erf(float x) {
  const float a = ks_min<float>(fabsf(x), 4.0f);
  float p = -0.00014204910f;
  p = fmaf(p, a, 0.0036643085f);
  p = fmaf(p, a, -0.030896237f);
  p = fmaf(p, a, 0.14969946f);
  p = fmaf(p, a, 0.91816545f);
  p = fmaf(p, a, 1.6279250f);
  return copysignf(1.0f - ks_unit_exp2(-a * p), x);
}
)kernel";

const std::string_view simt_search_text =
    R"kernel(// ---- counting borders by search ----
// Borders that aren't NaN, in ascending order.
struct ks_borders {
  const float* sorted;
  int size;
};
KS_BOTH size_t ks_borders_bytes(int64_t count) { return (2 * size_t(count) + 2) * sizeof(float); }
// Levels of a search tree that counts up to 2^levels - 1 borders.
KS_BOTH int ks_search_levels(int64_t count) {
  int levels = 0;
  while ((int64_t(1) << levels) <= count) ++levels;
  return levels;
}

// All threads of the block must call it.
template <class T>
__device__ ks_borders ks_order(const T* borders, int count, unsigned char* shared) {
  float *const raw = reinterpret_cast<float*>(shared), *const sorted = raw + count;
  int* const flags = reinterpret_cast<int*>(sorted + count);  // out of order, NaNs
  const int threads = int(blockDim.x);
  if (threadIdx.x == 0) flags[0] = flags[1] = 0;
  for (int i = int(threadIdx.x); i < count; i += threads) raw[i] = to_float(borders[i]);
  __syncthreads();
  for (int i = int(threadIdx.x); i < count; i += threads) {
    if (i + 1 < count && !(raw[i] <= raw[i + 1])) flags[0] = 1;
    if (raw[i] != raw[i]) flags[0] = 1;
  }
  __syncthreads();
  if (flags[0] == 0) return {raw, count};
  for (int i = int(threadIdx.x); i < count; i += threads) {
    int rank = 0, missing = 0;
    for (int j = 0; j < count; ++j) {
      rank += int(raw[j] < raw[i] || (raw[j] == raw[i] && j < i));
      missing += int(raw[j] != raw[j]);
    }
    if (raw[i] == raw[i]) sorted[rank] = raw[i];
    if (i == 0) flags[1] = missing;
  }
  __syncthreads();
  return {sorted, count - flags[1]};
}

template <bool kStrict>
__device__ __forceinline__ bool ks_below(float border, float x) { return kStrict ? border < x : border <= x; }

// Up to 2^kLevels - 1 borders: in order, a copy for each bank of shared memory, so that no thread of a warp waits for another's bank.
// NaN stands behind the last border, which is below nothing.
template <int kLevels>
struct ks_counter {
  static constexpr int banks = 32;
  const char* mine;

  static KS_BOTH size_t bytes(int64_t count) { return (size_t(banks) << kLevels) * sizeof(float) + ks_borders_bytes(count); }

  // All threads of the block must call it.
  template <class T>
  __device__ __forceinline__ void plant(const T* borders, int count, unsigned char* shared) {
    float* const copies = reinterpret_cast<float*>(shared);
    const ks_borders all = ks_order(borders, count, shared + (size_t(banks) << kLevels) * sizeof(float));
    for (int i = int(threadIdx.x); i < (banks << kLevels); i += int(blockDim.x))
      copies[i] = i / banks < all.size ? all.sorted[i / banks] : NAN;
    mine = reinterpret_cast<const char*>(copies + int(threadIdx.x) % banks);
    __syncthreads();
  }

  // Several values step down side by side.
  template <bool kStrict, int V>
  __device__ __forceinline__ void count(const float (&x)[V], int (&below)[V]) const {
    constexpr int stride = banks * int(sizeof(float));
#pragma unroll
    for (int l = 0; l < V; ++l) below[l] = 0;
#pragma unroll
    for (int level = 0; level < kLevels; ++level) {
      const int half = stride << (kLevels - 1 - level);
#pragma unroll
      for (int l = 0; l < V; ++l)
        if (ks_below<kStrict>(*reinterpret_cast<const float*>(mine + below[l] + half - stride), x[l])) below[l] += half;
    }
#pragma unroll
    for (int l = 0; l < V; ++l) below[l] = int(unsigned(below[l]) / unsigned(stride));
  }
};

// Any number of borders: a complete binary tree in breadth-first order; neighbouring threads that look at one level read different banks.
template <>
struct ks_counter<0> {
  const float* nodes;  // nodes[1 ... 2^levels - 1]
  int levels;

  static KS_BOTH size_t bytes(int64_t count) { return (size_t(1) << ks_search_levels(count)) * sizeof(float) + ks_borders_bytes(count); }

  template <class T>
  __device__ __forceinline__ void plant(const T* borders, int count, unsigned char* shared) {
    levels = ks_search_levels(count);
    float* const places = reinterpret_cast<float*>(shared);
    const ks_borders all = ks_order(borders, count, shared + (size_t(1) << levels) * sizeof(float));
    for (int at = 1 + int(threadIdx.x); at < (1 << levels); at += int(blockDim.x)) {
      int depth = 0;
      while ((at >> depth) > 1) ++depth;
      const int place = ((at - (1 << depth)) << (levels - depth)) + (1 << (levels - depth - 1)) - 1;
      places[at] = place < all.size ? all.sorted[place] : NAN;
    }
    nodes = places;
    __syncthreads();
  }

  template <bool kStrict, int V>
  __device__ __forceinline__ void count(const float (&x)[V], int (&below)[V]) const {
#pragma unroll
    for (int l = 0; l < V; ++l) below[l] = 1;
    for (int level = 0; level < levels; ++level) {
#pragma unroll
      for (int l = 0; l < V; ++l) below[l] = 2 * below[l] + int(ks_below<kStrict>(nodes[below[l]], x[l]));
    }
#pragma unroll
    for (int l = 0; l < V; ++l) below[l] -= 1 << levels;
  }
};
)kernel";

}  // namespace kernsmith::agents::simt
