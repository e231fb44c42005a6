// Prelude pieces "vectors" and "reduce" of SIMT kernels, and the choice of pieces.
#include "agents/synthesis/simt/simt_prelude.hpp"

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/simt/simt_prelude_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view simt_vectors_text =
    R"kernel(// ---- packs of neighbouring elements, moved by accesses of up to 16 bytes ----
template <class T, int V>
struct alignas(sizeof(T) * V < 16 ? sizeof(T) * V : 16) ks_pack {
  T at[V];
};
template <int kBytes> struct ks_word { using type = uint4; };
template <> struct ks_word<8> { using type = uint2; };
template <> struct ks_word<4> { using type = unsigned int; };
template <> struct ks_word<2> { using type = unsigned short; };
template <> struct ks_word<1> { using type = unsigned char; };

// kStream: data that nobody reads again soon, first to leave the caches.
template <int V, bool kStream, class T>
__device__ __forceinline__ ks_pack<T, V> ks_load(const T* from) {
  using word = typename ks_word<sizeof(T) * V>::type;
  ks_pack<T, V> pack;
#pragma unroll
  for (int i = 0; i < int(sizeof(pack) / sizeof(word)); ++i) {
    const word* source = reinterpret_cast<const word*>(from) + i;
    const word w = kStream ? __ldcs(source) : *source;
    memcpy(reinterpret_cast<char*>(&pack) + i * sizeof(word), &w, sizeof(word));
  }
  return pack;
}

template <int V, bool kStream, class T>
__device__ __forceinline__ void ks_store(T* to, const ks_pack<T, V>& pack) {
  using word = typename ks_word<sizeof(T) * V>::type;
#pragma unroll
  for (int i = 0; i < int(sizeof(pack) / sizeof(word)); ++i) {
    word* target = reinterpret_cast<word*>(to) + i;
    word w;
    memcpy(&w, reinterpret_cast<const char*>(&pack) + i * sizeof(word), sizeof(word));
    if (kStream) __stcs(target, w);
    else *target = w;
  }
}

// How packs meet the ends of a row: every pack lies inside; each lies inside or outside as a whole; or packs may be cut, and rows may begin
// between two packs.
constexpr int ks_full = 0, ks_even = 1, ks_any = 2;

// Elements first ... first + V - 1 of a row, of which those inside [0, extent) exist; `from` points at element `first`.
template <int V, int kEdge, bool kStream, class T, class I>
__device__ __forceinline__ ks_pack<T, V> ks_fetch(const T* from, I first, I extent) {
  if (kEdge == ks_full) return ks_load<V, kStream>(from);
  ks_pack<T, V> pack = {};
  if (kEdge == ks_even) {
    if (first < extent) pack = ks_load<V, kStream>(from);
    return pack;
  }
  constexpr size_t alignment = alignof(ks_pack<T, V>);
  if (first >= 0 && first + V <= extent && reinterpret_cast<uintptr_t>(from) % alignment == 0) return ks_load<V, kStream>(from);
#pragma unroll
  for (int l = 0; l < V; ++l)
    if (first + l >= 0 && first + l < extent) pack.at[l] = from[l];
  return pack;
}

template <int V, int kEdge, bool kStream, class T, class I>
__device__ __forceinline__ void ks_put(T* to, const ks_pack<T, V>& pack, I first, I extent) {
  constexpr size_t alignment = alignof(ks_pack<T, V>);
  if (kEdge == ks_full || (kEdge == ks_even && first < extent) ||
      (kEdge == ks_any && first >= 0 && first + V <= extent && reinterpret_cast<uintptr_t>(to) % alignment == 0)) {
    ks_store<V, kStream>(to, pack);
  } else if (kEdge == ks_any) {
#pragma unroll
    for (int l = 0; l < V; ++l)
      if (first + l >= 0 && first + l < extent) to[l] = pack.at[l];
  }
}
)kernel";

const std::string_view simt_reduce_text =
    R"kernel(// ---- reductions and scans over threads ----
template <class T>
__device__ __forceinline__ T ks_shuffle_xor(T value, int mask) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned int w[words] = {};
  memcpy(w, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) w[i] = __shfl_xor_sync(0xffffffffu, w[i], mask);
  memcpy(&value, w, sizeof(T));
  return value;
}
template <class T>
__device__ __forceinline__ T ks_shuffle_up(T value, int distance) {
  constexpr int words = (sizeof(T) + 3) / 4;
  unsigned int w[words] = {};
  memcpy(w, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < words; ++i) w[i] = __shfl_up_sync(0xffffffffu, w[i], distance);
  memcpy(&value, w, sizeof(T));
  return value;
}

// A value and the position where it stands; at < 0: none yet.
template <class T>
struct ks_position {
  T value;
  int64_t at;
};

// One slot per warp for what the warps of a block tell each other.
template <class T>
__device__ __forceinline__ T* ks_slots() {
  __shared__ __align__(16) unsigned char bytes[32 * sizeof(T)];
  return reinterpret_cast<T*>(bytes);
}

// Over kThreads neighbouring threads: a power of two up to 32, or all threads of the block. Every thread gets the result, in an order that
// never varies. All threads of the block must call it.
template <int kThreads, class T, class F>
__device__ __forceinline__ T ks_reduce(T value, F merge) {
#pragma unroll
  for (int distance = (kThreads < 32 ? kThreads : 32) / 2; distance > 0; distance /= 2) value = merge(value, ks_shuffle_xor(value, distance));
  if (kThreads > 32) {
    T* slots = ks_slots<T>();
    __syncthreads();
    if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = value;
    __syncthreads();
    constexpr int warps = kThreads > 32 ? kThreads / 32 : 1;
    value = slots[threadIdx.x % warps];
#pragma unroll
    for (int distance = warps / 2; distance > 0; distance /= 2) value = merge(value, ks_shuffle_xor(value, distance));
  }
  return value;
}

// What the threads before this one hold together, and all of them in `total`.
template <int kThreads, class T, class F>
__device__ __forceinline__ T ks_scan(T value, T identity, F merge, T* total) {
  constexpr int width = kThreads < 32 ? kThreads : 32;
  const int lane = int(threadIdx.x) % width;
  T running = value;
#pragma unroll
  for (int distance = 1; distance < width; distance *= 2) {
    const T before = ks_shuffle_up(running, distance);
    if (lane >= distance) running = merge(before, running);
  }
  T exclusive = ks_shuffle_up(running, 1);
  if (lane == 0) exclusive = identity;
  if (kThreads <= 32) {
    T all = running;
    if (lane != width - 1) all = identity;
    *total = ks_reduce<width>(all, merge);
    return exclusive;
  }
  T* slots = ks_slots<T>();
  const int warp = int(threadIdx.x) / 32;
  __syncthreads();
  if (lane == width - 1) slots[warp] = running;
  __syncthreads();
  T ahead = identity, all = identity;
#pragma unroll
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w == warp) ahead = all;
    all = merge(all, slots[w]);
  }
  *total = all;
  return merge(ahead, exclusive);
}

struct ks_adds {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
  __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return ks_add(a, b); }
};
struct ks_multiplies {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const { return a * b; }
  __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return ks_multiply(a, b); }
};
struct ks_takes_larger {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const { return ks_max<T>(a, b); }
};
struct ks_takes_smaller {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const { return ks_min<T>(a, b); }
};
struct ks_ors {
  __device__ __forceinline__ bool operator()(bool a, bool b) const { return a || b; }
};
struct ks_ands {
  __device__ __forceinline__ bool operator()(bool a, bool b) const { return a && b; }
};
// The first position whose value no other exceeds (kLargest) or undercuts. A NaN counts only at position 0, where nothing beats it.
template <bool kLargest>
struct ks_takes_position {
  template <class T>
  __device__ __forceinline__ ks_position<T> operator()(const ks_position<T>& a, const ks_position<T>& b) const {
    if (a.at < 0) return b;
    if (b.at < 0) return a;
    const bool a_first = a.at < b.at;
    const ks_position<T>&first = a_first ? a : b, &second = a_first ? b : a;
    return (kLargest ? second.value > first.value : second.value < first.value) ? second : first;
  }
};
)kernel";

std::string simt_prelude_text(std::set<std::string> pieces) {
  std::string text(simt_types_text);
  if (pieces.contains("vectors")) text.append("\n").append(simt_vectors_text);
  if (pieces.contains("reduce")) text.append("\n").append(simt_reduce_text);
  return text;
}

std::string simt_storage_type(dtype type) {
  return type == dtype::f16 ? "ks_f16" : storage_type(type);
}

}  // namespace kernsmith::agents::simt
