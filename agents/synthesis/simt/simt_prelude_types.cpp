// Prelude piece "types" of SIMT kernels: storage types, conversions, scalar functions with the definition language's semantics, launching.
// What stands in simt_conversions_text and simt_launching_text is CUDA's own; other dialects have theirs.
#include "agents/synthesis/simt/simt_prelude_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view simt_conversions_text =
    R"kernel(// ---- 8- and 16-bit floats by the device's own conversions ----
#define KS_BOTH __host__ __device__ __forceinline__

KS_BOTH float ks_f16_value(uint16_t bits) { return __half2float(__ushort_as_half(bits)); }
KS_BOTH uint16_t ks_f16_bits(float x) { return __half_as_ushort(__float2half_rn(x)); }
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
)kernel";

const std::string_view simt_types_text =
    R"kernel(// ---- storage types: 8- and 16-bit floats as bits, and conversions for every element type ----

struct ks_f16 { uint16_t bits; };
struct ks_bf16 { uint16_t bits; };
struct ks_f8e4m3 { uint8_t bits; };  // OCP E4M3fn: no infinity, largest 448
struct ks_f8e5m2 { uint8_t bits; };

KS_BOTH uint32_t ks_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, 4);
  return u;
}
KS_BOTH float ks_float(uint32_t u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}

KS_BOTH float to_float(float x) { return x; }
KS_BOTH float to_float(double x) { return float(x); }
KS_BOTH float to_float(ks_f16 x) { return ks_f16_value(x.bits); }
KS_BOTH float to_float(ks_bf16 x) { return ks_float(uint32_t(x.bits) << 16); }
KS_BOTH float to_float(ks_f8e4m3 x) { return ks_f8e4m3_value(x.bits); }
KS_BOTH float to_float(ks_f8e5m2 x) { return ks_f16_value(uint16_t(x.bits << 8)); }
KS_BOTH float to_float(int64_t x) { return float(x); }
KS_BOTH float to_float(int32_t x) { return float(x); }
KS_BOTH float to_float(int16_t x) { return float(x); }
KS_BOTH float to_float(int8_t x) { return float(x); }
KS_BOTH float to_float(uint8_t x) { return float(x); }

KS_BOTH double to_double(double x) { return x; }
KS_BOTH double to_double(int64_t x) { return double(x); }
KS_BOTH double to_double(int32_t x) { return double(x); }
template <class T>
KS_BOTH double to_double(T x) {
  return double(to_float(x));
}

// Truncated towards zero and saturated; NaN becomes 0.
template <class T, class F>
KS_BOTH T ks_saturate(F x) {
  constexpr T least = std::is_unsigned<T>::value ? T(0) : T(T(1) << (8 * sizeof(T) - 1)), most = T(~least);
  if (!(x == x)) return 0;
  if (x <= F(least)) return least;
  if (x >= F(most)) return most;
  return T(x);
}

template <class T>
KS_BOTH T from_float(float x) {
  if constexpr (std::is_same<T, ks_f16>::value) {
    return ks_f16{ks_f16_bits(x)};
  } else if constexpr (std::is_same<T, ks_bf16>::value) {
    return ks_bf16{ks_bf16_bits(x)};
  } else if constexpr (std::is_same<T, ks_f8e4m3>::value) {
    return ks_f8e4m3{ks_f8e4m3_bits(x)};
  } else if constexpr (std::is_same<T, ks_f8e5m2>::value) {
    return ks_f8e5m2{ks_f8e5m2_bits(x)};
  } else if constexpr (std::is_integral<T>::value) {
    return ks_saturate<T>(x);
  } else {
    return T(x);
  }
}

// A double as a float whose last bit is sticky ("round to odd"): rounding the result once more
// into 8 or 16 bits gives what rounding the double directly would.
KS_BOTH float ks_round_to_odd(double x) {
  const float nearest = float(x);
  const double back = double(nearest);
  const uint32_t u = ks_bits(nearest);
  if (!(back == back) || back == x || (u & 1)) return nearest;
  return ks_float(fabs(back) > fabs(x) ? u - 1 : u | 1);
}

template <class T>
KS_BOTH T from_double(double x) {
  if constexpr (std::is_same<T, double>::value || std::is_same<T, float>::value) {
    return T(x);
  } else if constexpr (std::is_integral<T>::value) {
    return ks_saturate<T>(x);
  } else {
    return from_float<T>(ks_round_to_odd(x));
  }
}

// The definition language's min and max: a NaN on either side wins.
template <class T>
KS_BOTH T ks_min(T a, T b) {
  return (a < b) | (a != a) ? a : b;
}
template <class T>
KS_BOTH T ks_max(T a, T b) {
  return (a > b) | (a != a) ? a : b;
}
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
template <>
__device__ __forceinline__ float ks_min<float>(float a, float b) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
template <>
__device__ __forceinline__ float ks_max<float>(float a, float b) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
#endif
KS_BOTH float ks_sigmoid_of(float x) {  // exp of the negative magnitude never overflows
  const float e = expf(-fabsf(x));
  return (x < 0 ? e : 1.0f) / (1.0f + e);
}
KS_BOTH double ks_sigmoid_of(double x) {
  const double e = exp(-fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
template <class T>
KS_BOTH T ks_sigmoid(T x) {
  return ks_sigmoid_of(x);
}
// Division by a value that many elements share: its inverse once. Where that would leave the range of floats, both are scaled by a power of
// two, beyond which the quotient leaves the range as well.
struct ks_divisor {
  float scale, inverse;
};
KS_BOTH ks_divisor ks_divide_by(float by) {
  const float scale = fabsf(by) < 1e-36f ? 18446744073709551616.0f : fabsf(by) > 1e36f ? 1.0f / 18446744073709551616.0f : 1.0f;
  return {scale, 1.0f / (by * scale)};
}
KS_BOTH float ks_quotient(float a, ks_divisor by) { return a * by.scale * by.inverse; }
KS_BOTH bool ks_inside(int64_t i, int64_t extent) { return uint64_t(i) < uint64_t(extent); }
// Integer arithmetic wraps.
KS_BOTH int64_t ks_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
KS_BOTH int64_t ks_subtract(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
KS_BOTH int64_t ks_multiply(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
)kernel";

const std::string_view simt_launching_text =
    R"kernel(// ---- launching ----
#ifndef KS_DYNAMIC_SHARED
#define KS_DYNAMIC_SHARED(name) extern __shared__ __align__(128) unsigned char name[]
#define KS_STATIC_SHARED(name, bytes) __shared__ __align__(16) unsigned char name[bytes]
__device__ __forceinline__ void ks_cluster_barrier() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
#endif
}
// The same place in the shared memory of another block of the cluster.
__device__ __forceinline__ void* ks_cluster_peer(void* mine, int rank) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return __cluster_map_shared_rank(mine, unsigned(rank));
#else
  return rank == 0 ? mine : nullptr;
#endif
}
#endif

static inline int ks_multiprocessors() {
  static int count = 0;
  if (count == 0) {
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess || cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) count = 1;
  }
  return count;
}

// Blocks that cover `items`, no more than `most` (kernels stride over the rest) nor than a grid can have.
static inline int64_t ks_blocks(int64_t items, int64_t per_block, int64_t most = 0x7fffffff) {
  const int64_t wanted = (items + per_block - 1) / per_block;
  return wanted < 1 ? 1 : wanted < most ? wanted : most;
}

// Blocks in clusters of `cluster` neighbours, or without (1).
template <class... Parameters, class... Arguments>
static int ks_start_clusters(int cluster, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                             Arguments... arguments) {
  if (shared_bytes > 48 * 1024) {
    const cudaError_t raised = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared_bytes));
    if (raised != cudaSuccess) return int(raised);
  }
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = unsigned(cluster);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t configuration = {};
  configuration.gridDim = grid;
  configuration.blockDim = block;
  configuration.dynamicSmemBytes = shared_bytes;
  configuration.stream = stream;
  configuration.attrs = &attribute;
  configuration.numAttrs = cluster > 1 ? 1 : 0;
  return int(cudaLaunchKernelEx(&configuration, kernel, Parameters(arguments)...));
}

template <class... Parameters, class... Arguments>
static int ks_start(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Arguments... arguments) {
  return ks_start_clusters(1, kernel, grid, block, shared_bytes, stream, arguments...);
}
)kernel";

}  // namespace kernsmith::agents::simt
