#include "agents/synthesis/row_grammar_functions.hpp"

#include <array>

namespace kernsmith::agents::row {
namespace {

constexpr std::array<support_function, 36> functions = {{
    {"splat", "inline real splat(double x) { return {SET}; }\n"},
    {"splat_whole", "inline whole splat_whole(int64_t x) { return {SETW}; }\n"},
    {"lane_numbers", "inline whole lane_numbers() { return {LANES}; }\n"},
    {"to_real", "inline real to_real(whole x) { return {R}(x); }\n"},
    {"load", R"text(template <class T>
inline real load(const T* p, int lanes) { return lanes == W ? {L}(p) : {L}_n(p, lanes); }
)text"},
    {"load_whole", R"text(template <class T>
inline whole load_whole(const T* p, int lanes) { return lanes == W ? {WL}(p) : {WL}_n(p, lanes); }
)text"},
    {"stream", R"text(// Aligned stores that go past the caches; the caller has checked the alignment.
inline void stream(float* p, vf x) {
#if KS_AVX512
  _mm512_stream_ps(p, (__m512)x);
#else
  _mm256_stream_ps(p, (__m256)x);
#endif
}
)text"},
    {"stream_wide", R"text(inline void stream(double* p, vd x) {
#if KS_AVX512
  _mm512_stream_pd(p, (__m512d)x);
#else
  _mm256_stream_pd(p, (__m256d)x);
#endif
}
)text"},
    {"store", R"text(template <bool kStream = false, class T>
inline void store(T* p, real x, int lanes) {
  if (lanes < W) return {S}_n(p, x, lanes);
  if constexpr (kStream && std::is_same_v<T, real_element>) {
    stream(p, x);
  } else {
    {S}(p, x);
  }
}
)text"},
    {"store_whole", R"text(// Keeps the low bits.
template <class T>
inline void store_whole(T* p, whole x, int lanes) {
  if constexpr (sizeof(T) > sizeof(whole_element)) {
    for (int l = 0; l < lanes; ++l) p[l] = x[l];
  } else {
    lanes == W ? {WS}(p, x) : {WS}_n(p, x, lanes);
  }
}
)text"},
    {"saturated", R"text(// Truncated and saturated as a T; NaN becomes 0.
template <class T>
inline whole saturated(real x) {
  alignas(64) T stored[W];
  {S}(stored, x);
  return {WL}(stored);
}
)text"},
    {"clamped", R"text(template <class T>
inline whole clamped(whole x) {
  return vmin(vmax(x, splat_whole(std::numeric_limits<T>::min())), splat_whole(std::numeric_limits<T>::max()));
}
)text"},
    {"saturated_scalar", R"text(template <class T>
inline int64_t saturated_scalar(int64_t x) {
  return std::clamp<int64_t>(x, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
}
)text"},
    {"wrapped", R"text(template <class T>
inline whole wrapped(whole x) {
  alignas(64) T stored[W];
  {WS}(stored, x);
  return {WL}(stored);
}
)text"},
    {"rounded", R"text(// Rounded to T and back.
template <class T>
inline real rounded(real x) {
  alignas(64) T stored[W];
  {S}(stored, x);
  return {L}(stored);
}
)text"},
    {"by_lane", R"text(// Lane l gets element(l): for addresses that don't follow each other.
template <class F>
inline __attribute__((always_inline)) real by_lane(int lanes, F element) {
  alignas(64) real_element values[W] = {};
  for (int l = 0; l < lanes; ++l) values[l] = real_element(element(l));
  return {L}(values);
}
)text"},
    {"whole_by_lane", R"text(template <class F>
inline __attribute__((always_inline)) whole whole_by_lane(int lanes, F element) {
  alignas(64) whole_element values[W] = {};
  for (int l = 0; l < lanes; ++l) values[l] = whole_element(element(l));
  return {WL}(values);
}
)text"},
    {"load_transposed", R"text(// Even elements of a run of vectors to its first half, odd ones to its second; then each half likewise.
template <int kWidth>
inline __attribute__((always_inline)) void unzip(real* parts) {
  if constexpr (kWidth > 1) {
    const whole even = lane_numbers() * 2, odd = even + 1;
    real halves[kWidth];
    for (int k = 0; k < kWidth / 2; ++k) {
      halves[k] = __builtin_shuffle(parts[2 * k], parts[2 * k + 1], even);
      halves[kWidth / 2 + k] = __builtin_shuffle(parts[2 * k], parts[2 * k + 1], odd);
    }
    for (int k = 0; k < kWidth; ++k) parts[k] = halves[k];
    unzip<kWidth / 2>(parts);
    unzip<kWidth / 2>(parts + kWidth / 2);
  }
}
// Column t of W contiguous rows of kCount elements each, for every t; rows from `lanes` on are zeros.
template <int kCount, class T>
inline __attribute__((always_inline)) void load_transposed(real (&columns)[kCount], const T* rows, int lanes) {
  alignas(64) T padded[kCount * W];
  if (lanes < W) {
    std::memset(static_cast<void*>(padded), 0, sizeof padded);
    std::memcpy(static_cast<void*>(padded), rows, size_t(lanes) * kCount * sizeof(T));
    rows = padded;
  }
  if constexpr ((kCount & (kCount - 1)) == 0) {
    real parts[kCount];
    for (int k = 0; k < kCount; ++k) parts[k] = load(rows + k * W, W);
    unzip<kCount>(parts);
    for (int k = 0; k < kCount; ++k) {
      int column = 0;  // unzipping leaves the columns in bit-reversed order
      for (int bit = 1; bit < kCount; bit *= 2) column = column * 2 + ((k & bit) != 0);
      columns[column] = parts[k];
    }
  } else {
    for (int t = 0; t < kCount; ++t) columns[t] = by_lane(W, [&](int64_t l) { return to_double(rows[l * kCount + t]); });
  }
}
)text"},
    {"inside", "inline bool inside(int64_t index, int64_t extent) { return index >= 0 && index < extent; }\n"},
    {"load_padded", R"text(// Elements first, first + 1, ... of a row of `extent`; `pad` where there is none.
template <class T>
inline real load_padded(bool row_inside, const T* row, int64_t first, int64_t extent, double pad, int lanes) {
  if (!row_inside || first >= extent || first + lanes <= 0) return splat(pad);
  if (first >= 0 && first + lanes <= extent) return load(row + first, lanes);
  return by_lane(lanes, [&](int64_t l) { return inside(first + l, extent) ? to_double(row[first + l]) : pad; });
}
)text"},
    {"load_whole_padded", R"text(template <class T>
inline whole load_whole_padded(bool row_inside, const T* row, int64_t first, int64_t extent, int64_t pad, int lanes) {
  if (!row_inside || first >= extent || first + lanes <= 0) return splat_whole(pad);
  if (first >= 0 && first + lanes <= extent) return load_whole(row + first, lanes);
  return whole_by_lane(lanes, [&](int64_t l) { return inside(first + l, extent) ? int64_t(row[first + l]) : pad; });
}
)text"},
    {"larger smaller", R"text(inline real larger(real a, real b) { return {MAX}(a, b); }
inline real smaller(real a, real b) { return {MIN}(a, b); }
inline whole larger(whole a, whole b) { return vmax(a, b); }
inline whole smaller(whole a, whole b) { return vmin(a, b); }
inline double larger(double a, double b) { return {SMAX}; }
inline double smaller(double a, double b) { return {SMIN}; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
)text"},
    {"keep", R"text(// `updated` in the first `lanes` lanes.
template <class V>
inline V keep(int lanes, V updated, V old) {
  return lanes == W ? updated : vselect(lane_numbers() < splat_whole(lanes), updated, old);
}
)text"},
    {"fill", R"text(template <class V, int kCount>
inline void fill(V (&values)[kCount], V value) {
  for (V& v : values) v = value;
}
)text"},
    {"copy", R"text(template <class V, int kCount>
inline void copy(V (&to)[kCount], const V (&from)[kCount]) {
  for (int v = 0; v < kCount; ++v) to[v] = from[v];
}
)text"},
    {"fold", R"text(// The accumulators of an unrolled loop in one.
template <class V, int kCount, class F>
inline V fold(V (&values)[kCount], F merge) {
  V all = values[0];
  for (int u = 1; u < kCount; ++u) all = merge(all, values[u]);
  return all;
}
)text"},
    {"across_lanes", R"text(// All lanes of x in one scalar.
template <class T, class V, class F>
inline T across_lanes(V x, F merge) {
  T all = T(x[0]);
  for (int l = 1; l < W; ++l) all = merge(all, T(x[l]));
  return all;
}
)text"},
    {"add multiply both either", R"text(// Ways to merge accumulators.
constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto multiply = [](auto a, auto b) { return a * b; };
constexpr auto both = [](auto a, auto b) { return a & b; };
constexpr auto either = [](auto a, auto b) { return a | b; };
)text"},
    {"largest smallest", R"text(constexpr auto largest = [](auto a, auto b) { return larger(a, b); };
constexpr auto smallest = [](auto a, auto b) { return smaller(a, b); };
)text"},
    {"precise", R"text(// A sum of partial sums with its rounding error (Knuth's two-sum), so that long rows lose nothing.
struct precise {
  real total = {}, error = {};
  void add(real part) {
    const real sum = total + part, back = sum - total;
    error += (total - (sum - back)) + (part - back);
    total = sum;
  }
  real value() const {
    // An infinite or NaN total stands as it is: its error term is NaN.
    const real sum = total + error;
    return vselect(sum == sum, sum, total);
  }
};
)text"},
    {"divisor", R"text(// Division by the same number again and again: by its inverse where that is a normal float.
struct divisor {
  explicit divisor(double by) : value(splat(by)), inverse(splat(1.0 / by)), invertible(std::abs(by) > 1e-30 && std::abs(by) < 1e30) {}
  real value, inverse;
  bool invertible;
};
inline real operator/(real x, const divisor& d) { return d.invertible ? x * d.inverse : x / d.value; }
)text"},
    {"each_vector", R"text(// step(index, lanes, u) for the vectors of [begin, end); u numbers the accumulators.
template <int kUnroll, class F>
inline __attribute__((always_inline)) void each_vector(int64_t begin, int64_t end, F step) {
  int64_t i = begin;
  for (; i + kUnroll * W <= end; i += kUnroll * W) {
#pragma GCC unroll 8
    for (int u = 0; u < kUnroll; ++u) step(i + u * W, W, u);
  }
  for (; i + W <= end; i += W) step(i, W, 0);
  if (i < end) step(i, int(end - i), 0);
}
)text"},
    {"prefix", R"text(// Running merge over the lanes of x.
template <class V, class F>
inline V prefix(V x, V neutral, F merge) {
#pragma GCC unroll 4
  for (int shift = 1; shift < W; shift *= 2) {
    const whole lane = lane_numbers();
    const V shifted = __builtin_shuffle(neutral, x, vselect(lane < splat_whole(shift), lane, lane - splat_whole(shift) + splat_whole(W)));
    x = merge(shifted, x);
  }
  return x;
}
)text"},
    {"row_buffer", R"text(// Memory of this thread's own, page aligned, kept between calls.
template <int kWhich, class T>
inline T* row_buffer(int64_t count) {
  struct memory {
    T* data = nullptr;
    int64_t count = 0;
    ~memory() { std::free(data); }
  };
  static thread_local memory own;
  if (own.count < count) {
    std::free(own.data);
    own.data = static_cast<T*>(std::aligned_alloc(4096, (size_t(count) * sizeof(T) + 4095) / 4096 * 4096));
    own.count = own.data != nullptr ? count : 0;
    if (own.data == nullptr) std::abort();
  }
  return own.data;
}
)text"},
    {"border_tree borders_below",
     R"text(// Sorted borders as a tree: a node is W neighbouring entries, the entries of a level are the last entries of the nodes below. NaN borders are
// at or below nothing: they are left out. Padding is NaN too.
struct border_tree {
  static constexpr int most_levels = 16;
  const float* level[most_levels];
  int levels = 0;

  template <class T>
  border_tree(const T* borders, int64_t count) {
    float* memory = row_buffer<64, float>(2 * count + most_levels * 2 * W);
    int64_t size = 0;
    for (int64_t i = 0; i < count; ++i)
      if (const float border = to_float(borders[i]); border == border) memory[size++] = border;
    if (!std::is_sorted(memory, memory + size)) std::sort(memory, memory + size);
    for (;;) {
      level[levels++] = memory;
      // One node more than there are, for values above all entries.
      const int64_t nodes = (size + W - 1) / W, padded = (nodes + 1) * W;
      for (int64_t i = size; i < padded; ++i) memory[i] = NAN;
      if (nodes <= 1) break;
      float* const above = memory + padded;
      for (int64_t i = 0; i < nodes; ++i) above[i] = memory[i * W + W - 1];
      memory = above;
      size = nodes;
    }
  }

  template <bool kStrict>
  int32_t below(float x) const {
    int64_t at = 0;
    for (int k = levels - 1; k >= 0; --k) {
#if KS_AVX512
      const unsigned mask = _mm512_cmp_ps_mask(_mm512_loadu_ps(level[k] + at * W), _mm512_set1_ps(x), kStrict ? _CMP_LT_OQ : _CMP_LE_OQ);
#else
      const __m256 node = _mm256_loadu_ps(level[k] + at * W);
      const int mask = _mm256_movemask_ps(_mm256_cmp_ps(node, _mm256_set1_ps(x), kStrict ? _CMP_LT_OQ : _CMP_LE_OQ));
#endif
      at = at * W + __builtin_popcount(unsigned(mask));
    }
    return int32_t(at);
  }
};
template <bool kStrict>
inline whole borders_below(const border_tree& borders, real x, int lanes) {
  alignas(64) float values[W];
  alignas(64) int32_t counts[W] = {};
  store(values, x, W);
  for (int l = 0; l < lanes; ++l) counts[l] = borders.below<kStrict>(values[l]);
  return load_whole(counts, W);
}
)text"},
    {"team share combine combine_strip",
     R"text(// Threads that share the sweeps of one row. A team of one is a thread with a row of its own.
constexpr int64_t slot_bytes = 512;
struct team {
  int rank = 0;
  int size = 1;
  char* slots = nullptr;  // two rounds of one slot per thread
  int round = 0;
};
struct range {
  int64_t begin, end;
};
// This thread's part of [0, extent), in multiples of `unit`.
inline range share(const team& crew, int64_t extent, int64_t unit) {
  if (crew.size == 1) return {0, extent};
  const int64_t each = (extent + crew.size * unit - 1) / (crew.size * unit) * unit;
  return {std::min(extent, crew.rank * each), std::min(extent, (crew.rank + 1) * each)};
}
// The same merged value for every thread of the team, merged in rank order.
template <class T, class F>
inline T combine(team& crew, T mine, F merge) {
  if (crew.size == 1) return mine;
  char* slots = crew.slots + (crew.round ^= 1) * crew.size * slot_bytes;
  std::memcpy(slots + crew.rank * slot_bytes, &mine, sizeof mine);
#pragma omp barrier
  T all, other;
  std::memcpy(&all, slots, sizeof all);
  for (int i = 1; i < crew.size; ++i) {
    std::memcpy(&other, slots + i * slot_bytes, sizeof other);
    all = merge(all, other);
  }
  return all;
}
// The same for the vectors of a strip, at one meeting of the team.
template <class T, int kCount, class F>
inline void combine_strip(team& crew, T (&mine)[kCount], F merge) {
  struct strip_values {
    T at[kCount];
  };
  static_assert(sizeof(strip_values) <= slot_bytes);
  if (crew.size == 1) return;
  strip_values all;
  for (int v = 0; v < kCount; ++v) all.at[v] = mine[v];
  all = combine(crew, all, [&](strip_values a, const strip_values& b) {
    for (int v = 0; v < kCount; ++v) a.at[v] = merge(a.at[v], b.at[v]);
    return a;
  });
  for (int v = 0; v < kCount; ++v) mine[v] = all.at[v];
}
)text"},
}};

}  // namespace

std::span<const support_function> support_functions() {
  return functions;
}

}  // namespace kernsmith::agents::row
