// The SIMT prelude's pieces in HIP C++: one text for AMD devices (waves of 64 or 32 threads) and, through HIP's NVIDIA headers, for NVIDIA
// ones. Where both have an instruction of their own, the text decides by platform.
#include "agents/synthesis/simt/simt_prelude_text.hpp"

namespace kernsmith::agents::simt {

namespace {

constexpr std::string_view conversions =
    R"kernel(// ---- 8- and 16-bit floats ----
#define KS_BOTH __host__ __device__ __forceinline__

KS_BOTH float ks_f16_value(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
KS_BOTH uint16_t ks_f16_bits(float x) { return __half_as_ushort(__float2half_rn(x)); }
#if defined(__HIP_PLATFORM_NVIDIA__)
KS_BOTH uint16_t ks_bf16_bits(float x) { return __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
KS_BOTH float ks_f8e4m3_value(uint8_t bits) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(bits, __NV_E4M3))); }
KS_BOTH uint8_t ks_f8e4m3_bits(float x) {  // beyond the rounding of 448: NaN
  const uint8_t code = uint8_t(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3));
  return fabsf(x) > 464.0f ? uint8_t(code | 0x7f) : code;
}
KS_BOTH uint8_t ks_f8e5m2_bits(float x) {  // beyond the rounding of 57344: infinity
  const uint8_t code = uint8_t(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2));
  return fabsf(x) >= 61440.0f ? uint8_t((code & 0x80) | 0x7c) : code;
}
#else
KS_BOTH uint32_t ks_word_of(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
// To nearest, ties to even; NaN stays NaN.
KS_BOTH uint16_t ks_bf16_bits(float x) {
  const uint32_t u = ks_word_of(x);
  return x != x ? uint16_t(0x7fff) : uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
// A magnitude in kFraction fraction bits below an exponent of that bias, to nearest, ties to even; it may run over the largest code.
template <int kFraction, int kBias>
KS_BOTH uint32_t ks_small_float(float magnitude) {
  constexpr float least_normal = 1.0f / float(1u << (kBias - 1));
  if (magnitude < least_normal) return uint32_t(int(rintf(magnitude * float(1u << (kBias - 1)) * float(1u << kFraction))));
  constexpr int dropped = 23 - kFraction;
  const uint32_t u = ks_word_of(magnitude);
  return ((u + (1u << (dropped - 1)) - 1 + ((u >> dropped) & 1)) >> dropped) - (uint32_t(127 - kBias) << kFraction);
}
KS_BOTH float ks_f8e4m3_value(uint8_t bits) {
  const int magnitude = bits & 0x7f, exponent = magnitude >> 3, fraction = magnitude & 7;
  const float value = magnitude == 0x7f ? NAN : exponent == 0 ? ldexpf(float(fraction), -9) : ldexpf(float(8 + fraction), exponent - 10);
  return bits & 0x80 ? -value : value;
}
KS_BOTH uint8_t ks_f8e4m3_bits(float x) {  // beyond the rounding of 448: NaN
  const uint8_t sign = uint8_t((ks_word_of(x) >> 31) << 7);
  return uint8_t(sign | (fabsf(x) <= 464.0f ? ks_small_float<3, 7>(fabsf(x)) : 0x7f));
}
KS_BOTH uint8_t ks_f8e5m2_bits(float x) {  // beyond the rounding of 57344: infinity
  const uint8_t sign = uint8_t((ks_word_of(x) >> 31) << 7);
  return x != x ? uint8_t(0x7f) : uint8_t(sign | (fabsf(x) < 61440.0f ? ks_small_float<2, 15>(fabsf(x)) : 0x7c));
}
#endif
)kernel";

constexpr std::string_view launching =
    R"kernel(// ---- launching ----
#ifndef KS_DYNAMIC_SHARED
#define KS_DYNAMIC_SHARED(name) extern __shared__ __attribute__((aligned(128))) unsigned char name[]
#define KS_STATIC_SHARED(name, bytes) __shared__ __attribute__((aligned(16))) unsigned char name[bytes]
#endif

// The second number of __launch_bounds__: blocks side by side on a multiprocessor for NVIDIA's compiler, waves side by side on one of a
// compute unit's four SIMD units for AMD's.
constexpr int ks_resident(int threads, int blocks) {
#if defined(__HIP_PLATFORM_NVIDIA__)
  return threads > 0 ? blocks : 1;
#else
  return (threads * blocks + 4 * 64 - 1) / (4 * 64);
#endif
}

static inline int ks_multiprocessors() {
  static int count = 0;
  if (count == 0) {
    int device = 0;
    if (hipGetDevice(&device) != hipSuccess || hipDeviceGetAttribute(&count, hipDeviceAttributeMultiprocessorCount, device) != hipSuccess) count = 1;
  }
  return count;
}

// Blocks that cover `items`, no more than `most` (kernels stride over the rest) nor than a grid can have.
static inline int64_t ks_blocks(int64_t items, int64_t per_block, int64_t most = 0x7fffffff) {
  const int64_t wanted = (items + per_block - 1) / per_block;
  return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

template <class... Parameters, class... Arguments>
static int ks_start(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, hipStream_t stream, Arguments... arguments) {
  if (shared_bytes > 48 * 1024) {
    const hipError_t raised = hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), hipFuncAttributeMaxDynamicSharedMemorySize, int(shared_bytes));
    if (raised != hipSuccess) return int(raised);
  }
  hipLaunchKernelGGL(kernel, grid, block, shared_bytes, stream, Parameters(arguments)...);
  return int(hipGetLastError());
}
)kernel";

constexpr std::string_view streaming =
    R"kernel(// ---- words that nobody reads again soon: first to leave the caches ----
#if defined(__HIP_PLATFORM_NVIDIA__)
template <class W>
__device__ __forceinline__ W ks_load_once(const W* from) { return __ldcs(from); }
template <class W>
__device__ __forceinline__ void ks_store_once(W* to, W word) { __stcs(to, word); }
#else
// The compiler's own vectors of the size of HIP's.
template <int kBytes> struct ks_native { typedef unsigned int type __attribute__((vector_size(kBytes))); };
template <> struct ks_native<4> { using type = unsigned int; };
template <> struct ks_native<2> { using type = unsigned short; };
template <> struct ks_native<1> { using type = unsigned char; };
template <class W>
__device__ __forceinline__ W ks_load_once(const W* from) {
  using native = typename ks_native<sizeof(W)>::type;
  const native got = __builtin_nontemporal_load(reinterpret_cast<const native*>(from));
  W word;
  memcpy(&word, &got, sizeof(W));
  return word;
}
template <class W>
__device__ __forceinline__ void ks_store_once(W* to, W word) {
  using native = typename ks_native<sizeof(W)>::type;
  native put;
  memcpy(&put, &word, sizeof(W));
  __builtin_nontemporal_store(put, reinterpret_cast<native*>(to));
}
#endif
)kernel";

constexpr std::string_view warps =
    R"kernel(// ---- values told to other threads of a wave ----
#if defined(__HIP_PLATFORM_NVIDIA__)
constexpr int ks_warp = 32;
__device__ __forceinline__ unsigned int ks_word_xor(unsigned int word, int mask) { return __shfl_xor_sync(0xffffffffu, word, mask); }
__device__ __forceinline__ unsigned int ks_word_up(unsigned int word, int distance) { return __shfl_up_sync(0xffffffffu, word, distance); }
#else
#if defined(__AMDGCN_WAVEFRONT_SIZE)
constexpr int ks_warp = __AMDGCN_WAVEFRONT_SIZE;
#else
constexpr int ks_warp = 64;  // where the host's code is compiled, which never uses it
#endif
__device__ __forceinline__ unsigned int ks_word_xor(unsigned int word, int mask) { return __shfl_xor(word, mask); }
__device__ __forceinline__ unsigned int ks_word_up(unsigned int word, int distance) { return __shfl_up(word, distance); }
#endif

template <class T>
__device__ __forceinline__ T ks_shuffle_xor(T value, int mask) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned int w[words] = {};
  memcpy(w, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) w[i] = ks_word_xor(w[i], mask);
  memcpy(&value, w, sizeof(T));
  return value;
}
template <class T>
__device__ __forceinline__ T ks_shuffle_up(T value, int distance) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned int w[words] = {};
  memcpy(w, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) w[i] = ks_word_up(w[i], distance);
  memcpy(&value, w, sizeof(T));
  return value;
}

// Blocks don't form clusters in HIP: a row belongs to one block.
template <int kBlocks, class T, class F>
__device__ __forceinline__ T ks_reduce_cluster(T value, F) {
  static_assert(kBlocks == 1, "no clusters of blocks in HIP");
  return value;
}
)kernel";

}  // namespace

const dialect_pieces hip_pieces = {conversions, launching, streaming, warps};

}  // namespace kernsmith::agents::simt
