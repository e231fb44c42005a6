// Prelude pieces "vectors" and "reduce" of SIMT kernels, and the choice of pieces.
#include "agents/synthesis/simt/simt_prelude.hpp"

#include "agents/synthesis/prelude.hpp"
#include "agents/synthesis/simt/simt_prelude_text.hpp"

namespace kernsmith::agents::simt {

const std::string_view simt_streaming_text =
    R"kernel(// ---- words that nobody reads again soon: first to leave the caches ----
template <class W>
__device__ __forceinline__ W ks_load_once(const W* from) { return __ldcs(from); }
template <class W>
__device__ __forceinline__ void ks_store_once(W* to, W word) { __stcs(to, word); }
)kernel";

const std::string_view simt_warps_text =
    R"kernel(// ---- values told to other threads of a warp, and to other blocks of a cluster ----
constexpr int ks_warp = 32;

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

// Over the blocks of a cluster, in their order: each tells the others its value. The second barrier keeps the slot until all have read it.
template <int kBlocks, class T, class F>
__device__ __forceinline__ T ks_reduce_cluster(T value, F merge) {
  KS_STATIC_SHARED(bytes, sizeof(T));
  if (threadIdx.x == 0) *reinterpret_cast<T*>(bytes) = value;
  ks_cluster_barrier();
  T all = *static_cast<const T*>(ks_cluster_peer(bytes, 0));
#pragma unroll
  for (int rank = 1; rank < kBlocks; ++rank) all = merge(all, *static_cast<const T*>(ks_cluster_peer(bytes, rank)));
  ks_cluster_barrier();
  return all;
}
)kernel";

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
    const word w = kStream ? ks_load_once(source) : *source;
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
    if (kStream) ks_store_once(target, w);
    else *target = w;
  }
}

// How packs meet the ends of a row: every pack lies inside; each lies inside or outside as a whole; or packs may be cut, and rows may begin
// between two packs.
constexpr int ks_full = 0, ks_even = 1, ks_any = 2;
template <int kEdge>
using ks_edge = std::integral_constant<int, kEdge>;

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

// A word on its way to shared memory while the thread goes on; it is there after ks_wait_ahead().
template <class W>
__device__ __forceinline__ void ks_copy_ahead(W* to, const W* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const unsigned int place = sizeof(W) >= 4 ? unsigned(__cvta_generic_to_shared(to)) : 0;
  if constexpr (sizeof(W) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(place), "l"(from) : "memory");
  else if constexpr (sizeof(W) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" : : "r"(place), "l"(from) : "memory");
  else if constexpr (sizeof(W) == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(place), "l"(from) : "memory");
  else *to = *from;
#else
  *to = *from;
#endif
}
__device__ __forceinline__ void ks_wait_ahead() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}
// The pack that ks_fetch gives, to a place in shared memory that only this thread reads.
template <int V, int kEdge, class T, class I>
__device__ __forceinline__ void ks_fetch_ahead(ks_pack<T, V>* to, const T* from, I first, I extent) {
  using word = typename ks_word<sizeof(T) * V>::type;
  const bool aligned = kEdge != ks_any || reinterpret_cast<uintptr_t>(from) % alignof(ks_pack<T, V>) == 0;
  if (kEdge == ks_full || (first >= 0 && first + V <= extent && aligned)) {
#pragma unroll
    for (int i = 0; i < int(sizeof(*to) / sizeof(word)); ++i)
      ks_copy_ahead(reinterpret_cast<word*>(to) + i, reinterpret_cast<const word*>(from) + i);
  } else {
    *to = ks_fetch<V, kEdge, false>(from, first, extent);
  }
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
// A value and the position where it stands; at < 0: none yet.
template <class T>
struct ks_position {
  T value;
  int64_t at;
};

// One slot per warp for what the warps of a block tell each other: at most 32, where a block has 1024 threads and a warp 32.
template <class T>
__device__ __forceinline__ T* ks_slots() {
  KS_STATIC_SHARED(bytes, 32 * sizeof(T));
  return reinterpret_cast<T*>(bytes);
}

// Over kThreads neighbouring threads: a power of two up to 32, or all threads of the block, or of kBlocks blocks of a cluster. Every thread
// gets the result, in an order that never varies. All threads of the block must call it.
template <int kThreads, int kBlocks = 1, class T, class F>
__device__ __forceinline__ T ks_reduce(T value, F merge) {
#pragma unroll
  for (int distance = (kThreads < ks_warp ? kThreads : ks_warp) / 2; distance > 0; distance /= 2)
    value = merge(value, ks_shuffle_xor(value, distance));
  if (kThreads > ks_warp) {
    T* slots = ks_slots<T>();
    __syncthreads();
    if (threadIdx.x % ks_warp == 0) slots[threadIdx.x / ks_warp] = value;
    __syncthreads();
    constexpr int warps = kThreads > ks_warp ? kThreads / ks_warp : 1;
    value = slots[threadIdx.x % warps];
#pragma unroll
    for (int distance = warps / 2; distance > 0; distance /= 2) value = merge(value, ks_shuffle_xor(value, distance));
  }
  if constexpr (kBlocks > 1) value = ks_reduce_cluster<kBlocks>(value, merge);
  return value;
}

// What the threads before this one hold together, and all of them in `total`.
template <int kThreads, class T, class F>
__device__ __forceinline__ T ks_scan(T value, T identity, F merge, T* total) {
  constexpr int width = kThreads < ks_warp ? kThreads : ks_warp;
  const int lane = int(threadIdx.x) % width;
  T running = value;
#pragma unroll
  for (int distance = 1; distance < width; distance *= 2) {
    const T before = ks_shuffle_up(running, distance);
    if (lane >= distance) running = merge(before, running);
  }
  T exclusive = ks_shuffle_up(running, 1);
  if (lane == 0) exclusive = identity;
  if (kThreads <= ks_warp) {
    T all = running;
    if (lane != width - 1) all = identity;
    *total = ks_reduce<width>(all, merge);
    return exclusive;
  }
  T* slots = ks_slots<T>();
  const int warp = int(threadIdx.x) / ks_warp;
  __syncthreads();
  if (lane == width - 1) slots[warp] = running;
  __syncthreads();
  T ahead = identity, all = identity;
#pragma unroll
  for (int w = 0; w < kThreads / ks_warp; ++w) {
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
// The extreme of what is a number.
struct ks_takes_larger_number {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ __forceinline__ double operator()(double a, double b) const { return fmax(a, b); }
  __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return a > b ? a : b; }
};
struct ks_takes_smaller_number {
  __device__ __forceinline__ float operator()(float a, float b) const { return fminf(a, b); }
  __device__ __forceinline__ double operator()(double a, double b) const { return fmin(a, b); }
  __device__ __forceinline__ int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};
struct ks_ors {
  __device__ __forceinline__ bool operator()(bool a, bool b) const { return a || b; }
};
struct ks_ands {
  __device__ __forceinline__ bool operator()(bool a, bool b) const { return a && b; }
};
// Takes in the value at a position later than all before. A NaN counts only at position 0, where nothing beats it.
template <bool kLargest, class T>
__device__ __forceinline__ void ks_take(ks_position<T>& best, T value, int64_t at) {
  const bool beats = kLargest ? value > best.value : value < best.value;
  const bool takes = ((best.at < 0) | beats) & ((at == 0) | (value == value));
  best.value = takes ? value : best.value;
  best.at = takes ? at : best.at;
}
// The first position whose value no other exceeds (kLargest) or undercuts.
template <bool kLargest>
struct ks_takes_position {
  template <class T>
  __device__ __forceinline__ ks_position<T> operator()(const ks_position<T>& a, const ks_position<T>& b) const {
    const bool a_first = a.at < b.at;
    const T early = a_first ? a.value : b.value, late = a_first ? b.value : a.value;
    const bool late_wins = (kLargest ? late > early : late < early) | ((a_first ? a.at : b.at) < 0);
    const bool takes_a = a_first != late_wins;
    return {takes_a ? a.value : b.value, takes_a ? a.at : b.at};
  }
};
)kernel";

const dialect_pieces cuda_pieces = {simt_conversions_text, simt_launching_text, simt_streaming_text, simt_warps_text};

std::string simt_prelude_text(const std::set<std::string>& pieces, dialect language) {
  const dialect_pieces& own = language == dialect::hip ? hip_pieces : cuda_pieces;
  std::string text;
  const auto add = [&](bool wanted, std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
      if (wanted) text.append(text.empty() ? "" : "\n").append(part);
  };
  add(true, {own.conversions, simt_types_text, own.launching});
  add(pieces.contains("vectors"), {own.streaming, simt_vectors_text});
  add(pieces.contains("fast"), {simt_fast_text});
  add(pieces.contains("search"), {simt_search_text});
  add(pieces.contains("reduce"), {own.warps, simt_reduce_text});
  return text;
}

std::string simt_storage_type(dtype type) {
  return type == dtype::f16 ? "ks_f16" : storage_type(type);
}

}  // namespace kernsmith::agents::simt
