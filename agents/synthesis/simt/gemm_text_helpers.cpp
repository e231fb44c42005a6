// Texts of matrix products: the device's asynchronous units, access to rows.
#include "agents/synthesis/simt/gemm_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view shared_address_text = R"kernel(#ifndef KS_SHARED_ADDRESS
#define KS_SHARED_ADDRESS
__device__ __forceinline__ uint32_t ks_shared_address(const void* p) { return uint32_t(__cvta_generic_to_shared(p)); }
#endif
)kernel";

const std::string_view async_copies_text = R"kernel(#ifndef KS_ASYNC_COPIES
#define KS_ASYNC_COPIES
// ---- copies into shared memory that go on in the background (cp.async, sm_80 and later) ----
// The first `bytes` of kBytes and zeros behind them; both addresses are multiples of kBytes: 4, 8 or 16.
template <int kBytes>
__device__ __forceinline__ void ks_copy(uint32_t to, const void* from, int bytes) {
  if constexpr (kBytes == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
  else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(bytes), "n"(kBytes) : "memory");
}
__device__ __forceinline__ void ks_copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Returns when all but the last `kPending` committed groups of this thread's copies are done.
template <int kPending>
__device__ __forceinline__ void ks_copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
#endif
)kernel";

const std::string_view tensor_core_helpers_text = R"kernel(#ifndef KS_TENSOR_CORES
#define KS_TENSOR_CORES
// ---- asynchronous units of sm_90: barriers in shared memory, the copy engine (TMA), warpgroup products (WGMMA) ----
struct alignas(64) ks_tensor_map {  // a CUtensorMap
  unsigned long long words[16];
};

__device__ __forceinline__ void ks_barrier_init(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// One arrival, and so many bytes still to come from the copy engine.
__device__ __forceinline__ void ks_barrier_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void ks_barrier_wait(uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@done bra over;\nbra again;\nover:\n}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void ks_barrier_arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// The same barrier in block `rank` of the cluster.
__device__ __forceinline__ void ks_barrier_arrive_at(uint32_t barrier, int rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [there];\n}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
__device__ __forceinline__ int ks_cluster_rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return int(rank);
}
__device__ __forceinline__ void ks_cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void ks_products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void ks_products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Returns when all but the last `kPending` committed groups of products are done.
template <int kPending>
__device__ __forceinline__ void ks_products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// A matrix in shared memory as WGMMA takes it. Swizzle: 1 for rows of 128 bytes, 2 for rows of 64.
__device__ __forceinline__ uint64_t ks_matrix(uint32_t address, int leading_bytes, int stride_bytes, int swizzle) {
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(leading_bytes >> 4) << 16 | uint64_t(stride_bytes >> 4) << 32 | uint64_t(swizzle) << 62;
}

// Describes a tensor for the copy engine: dimensions innermost first, strides in bytes of all but the first, the box that one copy
// moves. Returns 0 or a cudaError_t. The driver's function is found through the runtime, so nothing has to be linked.
enum { KS_MAP_BYTES = 0, KS_MAP_F16 = 6, KS_MAP_BF16 = 9 };
static int ks_describe(ks_tensor_map* map, int type, void* data, int rank, const uint64_t* extents, const uint64_t* strides,
                       const uint32_t* box, int swizzle_bytes) {
  using encode = int (*)(ks_tensor_map*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int,
                         int, int);
  static const encode function = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status;
    const bool ok = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status) == cudaSuccess;
    return reinterpret_cast<encode>(ok ? found : nullptr);
  }();
  if (function == nullptr) return int(cudaErrorNotSupported);
  const uint32_t ones[5] = {1, 1, 1, 1, 1};
  const int swizzle = swizzle_bytes == 128 ? 3 : 2, promote_256_bytes = 3;
  return function(map, type, uint32_t(rank), data, extents, strides, box, ones, 0, swizzle, promote_256_bytes, 0) == 0
             ? 0
             : int(cudaErrorInvalidValue);
}
#endif
)kernel";

const std::string_view row_access_text = R"kernel(#ifndef KS_ROW_ACCESS
#define KS_ROW_ACCESS
// ---- eight neighbouring elements of a row, in 16-byte accesses where they are aligned and whole ----
template <class T>
__device__ __forceinline__ bool ks_whole(const T* p, int count) {
  constexpr uintptr_t unit = sizeof(T) >= 2 ? 16 : 8;
  return count == 8 && uintptr_t(p) % unit == 0;
}
template <class V, class T>
__device__ __forceinline__ V ks_widen(const T& x) {
  if constexpr (std::is_same<V, double>::value) return to_double(x); else return to_float(x);
}
// V: float or double.
template <class T, class V>
__device__ __forceinline__ void ks_read8(const T* p, int count, V (&v)[8]) {
  if (ks_whole(p, count)) {
    constexpr int words = int(sizeof(T)) * 2;
    uint32_t raw[words];
    if constexpr (words >= 4) {
#pragma unroll
      for (int i = 0; i < words; i += 4) *reinterpret_cast<uint4*>(raw + i) = __ldg(reinterpret_cast<const uint4*>(p) + i / 4);
    } else {
      *reinterpret_cast<uint2*>(raw) = __ldg(reinterpret_cast<const uint2*>(p));
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      T x;
      memcpy(&x, reinterpret_cast<const char*>(raw) + i * sizeof(T), sizeof(T));
      v[i] = ks_widen<V>(x);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = i < count ? ks_widen<V>(p[i]) : V(0);
  }
}
template <class T>
__device__ __forceinline__ void ks_write8(T* p, int count, const T (&v)[8]) {
  if (ks_whole(p, count)) {
    constexpr int words = int(sizeof(T)) * 2;
    uint32_t raw[words];
    memcpy(raw, v, sizeof raw);
    if constexpr (words >= 4) {
#pragma unroll
      for (int i = 0; i < words; i += 4) reinterpret_cast<uint4*>(p)[i / 4] = make_uint4(raw[i], raw[i + 1], raw[i + 2], raw[i + 3]);
    } else {
      *reinterpret_cast<uint2*>(p) = make_uint2(raw[0], raw[1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (i < count) p[i] = v[i];
  }
}
__device__ __forceinline__ int64_t ks_clamp(int64_t x, int64_t least, int64_t most) { return x < least ? least : x > most ? most : x; }
// Four lanes hold pairs of neighbouring columns of four blocks of 8; afterwards lane q holds the 8 columns of block q.
template <class T>
__device__ __forceinline__ void ks_exchange_quad(T (&v)[8]) {
  const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
#pragma unroll
  for (int e = 0; e < 2; ++e) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const T got = __shfl_xor_sync(~0u, odd ? v[2 * i + e] : v[2 * i + 2 + e], 1);
      if (odd) v[2 * i + e] = got; else v[2 * i + 2 + e] = got;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const T got = __shfl_xor_sync(~0u, high ? v[2 * i + e] : v[2 * i + 4 + e], 2);
      if (high) v[2 * i + e] = got; else v[2 * i + 4 + e] = got;
    }
  }
}
#endif
)kernel";

}  // namespace kernsmith::agents::simt
