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

const std::string_view simt_fast_text =
    R"kernel(// ---- functions by the hardware's approximations of exp2, log2 and the reciprocal ----
__device__ __forceinline__ float ks_fast_exp(float x) { return __expf(x); }
__device__ __forceinline__ float ks_fast_log(float x) { return __logf(x); }
__device__ __noinline__ float ks_rare_pow(float a, float b) { return powf(a, b); }
__device__ __forceinline__ float ks_fast_pow(float a, float b) {
  return a > 0.0f && fabsf(b) < 1e30f ? exp2f(b * __log2f(a)) : ks_rare_pow(a, b);
}
__device__ __forceinline__ float ks_fast_sigmoid(float x) {
  return __fdividef(1.0f, 1.0f + __expf(fminf(-x, 80.0f) + (x != x ? x : 0.0f)));
}
__device__ __forceinline__ float ks_fast_tanh(float x) {
  const float e = __expf(-2.0f * fabsf(x));
  return copysignf(__fdividef(1.0f - e, 1.0f + e), x);
}
// erfc(x) = 2^(-x p(x)) on [0, 4], with p fitted so that the largest error of erf is least: 3e-7.
__device__ __forceinline__ float ks_fast_erf(float x) {
  const float a = x != x ? x : fminf(fabsf(x), 4.0f);
  float p = -0.00014204910f;
  p = fmaf(p, a, 0.0036643085f);
  p = fmaf(p, a, -0.030896237f);
  p = fmaf(p, a, 0.14969946f);
  p = fmaf(p, a, 0.91816545f);
  p = fmaf(p, a, 1.6279250f);
  return copysignf(1.0f - exp2f(-a * p), x);
}
)kernel";

const std::string_view simt_search_text =
    R"kernel(// ---- counting borders by search ----
// A complete binary tree in breadth-first order: neighbouring threads that look at one level read different banks.
struct ks_tree {
  const float* nodes;  // nodes[1 ... 2^levels - 1]
  int levels, size;    // borders that aren't NaN

  // Several values step down side by side.
  template <bool kStrict, int V>
  __device__ __forceinline__ void count(const float (&x)[V], int (&below)[V]) const {
    int at[V];
#pragma unroll
    for (int l = 0; l < V; ++l) at[l] = 1;
    for (int level = 0; level < levels; ++level) {
#pragma unroll
      for (int l = 0; l < V; ++l) at[l] = 2 * at[l] + int(kStrict ? nodes[at[l]] < x[l] : nodes[at[l]] <= x[l]);
    }
#pragma unroll
    for (int l = 0; l < V; ++l) {
      const int place = at[l] - (1 << levels);
      below[l] = place < size ? place : size;  // nodes behind the last border hold infinity
    }
  }
};

KS_BOTH int ks_tree_levels(int64_t count) {
  int levels = 0;
  while ((int64_t(1) << levels) <= count) ++levels;
  return levels;
}
KS_BOTH size_t ks_tree_bytes(int64_t count) { return (size_t(2) * size_t(count) + (size_t(1) << ks_tree_levels(count)) + 4) * sizeof(float); }

// All threads of the block must call it.
template <class T>
__device__ ks_tree ks_plant(const T* borders, int count, unsigned char* shared) {
  float *const raw = reinterpret_cast<float*>(shared), *const sorted = raw + count, *const nodes = sorted + count;
  const int levels = ks_tree_levels(count);
  int* const flags = reinterpret_cast<int*>(nodes + (1 << levels));  // out of order, NaNs
  const int threads = int(blockDim.x);
  if (threadIdx.x == 0) flags[0] = flags[1] = 0;
  for (int i = int(threadIdx.x); i < count; i += threads) raw[i] = to_float(borders[i]);
  __syncthreads();
  for (int i = int(threadIdx.x); i < count; i += threads) {
    if (i + 1 < count && !(raw[i] <= raw[i + 1])) flags[0] = 1;
    if (raw[i] != raw[i]) flags[0] = 1;
  }
  __syncthreads();
  const bool in_order = flags[0] == 0;
  if (!in_order) {
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
  }
  const int size = count - flags[1];
  for (int at = 1 + int(threadIdx.x); at < (1 << levels); at += threads) {
    int depth = 0;
    while ((at >> depth) > 1) ++depth;
    const int place = ((at - (1 << depth)) << (levels - depth)) + (1 << (levels - depth - 1)) - 1;
    nodes[at] = place < size ? (in_order ? raw : sorted)[place] : INFINITY;
  }
  __syncthreads();
  return {nodes, levels, size};
}
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
