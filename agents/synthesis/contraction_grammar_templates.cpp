#include "agents/synthesis/contraction_grammar_templates.hpp"

namespace kernsmith::agents::nest {

std::string fill(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out;
  while (!text.empty()) {
    const std::size_t stop = text.find('\n');
    const std::string_view line = text.substr(0, stop);
    text.remove_prefix(stop == std::string_view::npos ? text.size() : stop + 1);
    std::string filled(line);
    bool lone_empty_key = false;
    for (const auto& [key, value] : values) {
      const std::string mark = "@" + key + "@";
      for (std::size_t at = filled.find(mark); at != std::string::npos; at = filled.find(mark, at + value.size())) {
        filled.replace(at, mark.size(), value);
        if (filled.find_first_not_of(' ') == std::string::npos) lone_empty_key = true;
      }
    }
    if (!lone_empty_key) out += filled + "\n";
  }
  return out;
}

const std::string_view lane_helpers_text = R"kernel(
// The first `lanes` lanes of a vector: all of them but at an edge.
template <class T>
[[gnu::always_inline]] static inline vec read(const T* p, int lanes) {
  return lanes == LANES ? @LOAD@(p) : @LOAD@_n(p, lanes);
}
template <class T>
[[gnu::always_inline]] static inline void write(T* p, vec x, int lanes) {
  if (lanes == LANES)
    @STORE@(p, x);
  else
    @STORE@_n(p, x, lanes);
}
template <class T>
static inline vec read_strided(const T* p, int64_t stride, int lanes) {
  if (stride == 2) {  // the even ones of the 2 * lanes - 1 elements from p on
    const int elements = 2 * lanes - 1;
    const vec low = read(p, std::min(elements, LANES)), high = elements > LANES ? read(p + LANES, elements - LANES) : vec{};
    return __builtin_shuffle(low, high, lane_numbers(2 * @LANE_NUMBERS@()));
  }
  real x[LANES] = {};
  for (int l = 0; l < lanes; ++l) x[l] = @TO@(p[l * stride]);
  return @LOAD@(x);
}
template <class T>
static inline void write_strided(T* p, int64_t stride, vec x, int lanes) {
  real y[LANES];
  @STORE@(y, x);
  for (int l = 0; l < lanes; ++l) p[l * stride] = @FROM@<T>(y[l]);
}
// The first lanes of x, zero in the others.
static inline vec first(vec x, int lanes) {
  real y[LANES] = {};
  write(y, x, lanes);
  return @LOAD@(y);
}
static inline vec splat(real x) { return @SET@(x); }
template <class T>
static inline vec round_to(vec x) {
  T y[LANES];
  @STORE@(y, x);
  return @LOAD@(y);
}
)kernel";

const std::string_view pad_helpers_text = R"kernel(
static inline bool inside(int64_t position, int64_t extent) { return uint64_t(position) < uint64_t(extent); }
// Lanes at p[offset + l * stride], whose position in the padded dimension is first + l * step; outside of its extent the pad.
template <class T>
static inline vec read_edge(const T* p, int64_t offset, int64_t stride, int64_t first, int64_t step, int64_t extent, int lanes, real pad) {
  // Lanes low .. high - 1 fall inside: they are read to the front and then moved up.
  const int64_t low = first < 0 ? (step - 1 - first) / step : 0;
  const int64_t high = first < extent ? std::min<int64_t>(lanes, (extent - 1 - first) / step + 1) : 0;
  if (low >= high) return splat(pad);
  const T* from = p + offset + low * stride;
  const vec front = stride == 1 ? read(from, int(high - low)) : read_strided(from, stride, int(high - low));
  const lane_numbers lane = @LANE_NUMBERS@();
  const vec moved = __builtin_shuffle(front, (lane - @LANE@(low)) & (LANES - 1));
  return vselect((lane >= @LANE@(low)) & (lane < @LANE@(high)), moved, splat(pad));
}
template <class T>
[[gnu::always_inline]] static inline vec read_padded(const T* p, int64_t offset, int64_t stride, int64_t first, int64_t step, int64_t extent,
                                                     int lanes, real pad) {
  if (stride == 1 && first >= 0 && first + (lanes - 1) * step < extent) return read(p + offset, lanes);
  return read_edge(p, offset, stride, first, step, extent, lanes, pad);
}
)kernel";

const std::string_view scratch_text = R"kernel(
// Memory of this thread that is kept between calls; it only grows.
template <class T, int slot>
static T* scratch(int64_t count) {
  struct memory {
    void* data = nullptr;
    size_t bytes = 0;
    ~memory() { std::free(data); }
  };
  static thread_local memory kept;
  const size_t wanted = (size_t(count) * sizeof(T) + 4095) / 4096 * 4096;
  if (kept.bytes < wanted) {
    std::free(kept.data);
    kept.data = std::aligned_alloc(4096, wanted);
    kept.bytes = kept.data ? wanted : 0;
    if (!kept.data) std::abort();
  }
  return static_cast<T*>(kept.data);
}
)kernel";

const std::string_view range_text = R"kernel(
struct range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};
// The i-th of `parts` shares of 0 .. extent, cut at multiples of `unit`.
static inline range share(int64_t extent, int64_t parts, int64_t i, int64_t unit) {
  const int64_t units = (extent + unit - 1) / unit;
  return {std::min(extent, units * i / parts * unit), std::min(extent, units * (i + 1) / parts * unit)};
}
)kernel";

const std::string_view transpose_text = R"kernel(
// LANES x LANES elements in registers: log2(LANES) rounds that swap halves of ever larger blocks.
template <int half, int... lane>
[[gnu::always_inline]] static inline void swap_halves(@WORDS@ (&r)[LANES], std::integer_sequence<int, lane...>) {
  const lane_numbers low = {((lane & half) ? LANES + lane - half : lane)...};
  const lane_numbers high = {((lane & half) ? LANES + lane : lane + half)...};
#pragma GCC unroll 16
  for (int i = 0; i < LANES; ++i) {
    if (i & half) continue;
    const @WORDS@ a = r[i], b = r[i + half];
    r[i] = __builtin_shuffle(a, b, low);
    r[i + half] = __builtin_shuffle(a, b, high);
  }
}
[[gnu::always_inline]] static inline void transpose(@WORDS@ (&r)[LANES]) {
  using lanes = std::make_integer_sequence<int, LANES>;
  swap_halves<1>(r, lanes{});
  swap_halves<2>(r, lanes{});
  if constexpr (LANES > 4) swap_halves<4>(r, lanes{});
  if constexpr (LANES > 8) swap_halves<8>(r, lanes{});
}
)kernel";

const std::string_view pack_right_columns_text = R"kernel(
// Copies depth x columns of the right operand into panels of NR columns, [panel][depth][NR]; columns beyond the end are zero.
static void pack_right(const operands& t, const slice& s, range depth, int64_t column0, int64_t columns, @WORD@* panels) {
  for (int64_t j = 0; j < columns; j += NR, panels += depth.size() * NR) {
    for (int64_t k = depth.begin; k < depth.end; ++k) {
      @WORD@* to = panels + (k - depth.begin) * NR;
      if (columns - j >= NR) {
#pragma GCC unroll 8
        for (int v = 0; v < NV; ++v) @WSTORE@(to + v * LANES, right_columns(t, s, k, column0 + j + v * LANES, LANES));
        continue;
      }
      for (int v = 0; v < NV; ++v) {
        const int64_t left = std::clamp<int64_t>(columns - j - v * LANES, 0, LANES);
        @WSTORE@(to + v * LANES, left > 0 ? right_columns(t, s, k, column0 + j + v * LANES, int(left)) : @WORDS@{});
      }
    }
  }
}
)kernel";

const std::string_view pack_right_depth_text = R"kernel(
// Copies depth x columns of the right operand, which is contiguous along the depth, into panels of NR columns, [panel][depth][NR]:
// squares of LANES x LANES are transposed in registers. Columns beyond the end are zero.
static void pack_right(const operands& t, const slice& s, range depth, int64_t column0, int64_t columns, @WORD@* panels) {
  for (int64_t j = 0; j < columns; j += NR, panels += depth.size() * NR) {
    for (int v = 0; v < NV; ++v) {
      for (int64_t k = depth.begin; k < depth.end; k += LANES) {
        const int lanes = int(std::min<int64_t>(LANES, depth.end - k));
        @WORDS@ square[LANES];
        for (int c = 0; c < LANES; ++c) {
          const int64_t column = j + v * LANES + c;
          square[c] = column < columns ? right_depth(t, s, k, column0 + column, lanes) : @WORDS@{};
        }
        transpose(square);
        for (int d = 0; d < lanes; ++d) @WSTORE@(panels + (k - depth.begin + d) * NR + v * LANES, square[d]);
      }
    }
  }
}
)kernel";

const std::string_view pack_right_scalar_text = R"kernel(
// Copies depth x columns of the right operand into panels of NR columns, [panel][depth][NR]; columns beyond the end are zero.
static void pack_right(const operands& t, const slice& s, range depth, int64_t column0, int64_t columns, @WORD@* panels) {
  for (int64_t j = 0; j < columns; j += NR, panels += depth.size() * NR) {
    for (int64_t k = depth.begin; k < depth.end; ++k)
      for (int64_t c = 0; c < NR; ++c)
        panels[(k - depth.begin) * NR + c] = j + c < columns ? right_at(t, s, k, column0 + j + c) : @WORD@{};
  }
}
)kernel";

const std::string_view pack_left_depth_text = R"kernel(
// Copies rows x depth of the left operand to [row][ld]; rows up to the next multiple of MR are zero.
static void pack_left(const operands& t, const slice& s, int64_t row0, int64_t rows, range depth, @WORD@* panel, int64_t ld) {
  for (int64_t i = 0; i < rows; ++i) {
    int64_t k = depth.begin;
    for (; k + LANES <= depth.end; k += LANES) @WSTORE@(panel + i * ld + k - depth.begin, left_depth(t, s, row0 + i, k, LANES));
    if (k < depth.end) @WSTORE@(panel + i * ld + k - depth.begin, left_depth(t, s, row0 + i, k, int(depth.end - k)));
  }
  for (int64_t i = rows; i % MR != 0; ++i) std::fill_n(panel + i * ld, depth.size(), @WORD@{});
}
)kernel";

const std::string_view pack_left_rows_text = R"kernel(
// Copies rows x depth of the left operand, which is contiguous along the rows, to [row][ld]: squares of LANES x LANES are
// transposed in registers. Rows up to the next multiple of MR are zero.
static void pack_left(const operands& t, const slice& s, int64_t row0, int64_t rows, range depth, @WORD@* panel, int64_t ld) {
  for (int64_t i = 0; i < rows; i += LANES) {
    const int lanes = int(std::min<int64_t>(LANES, rows - i));
    for (int64_t k = depth.begin; k < depth.end; k += LANES) {
      @WORDS@ square[LANES];
      for (int d = 0; d < LANES; ++d) square[d] = k + d < depth.end ? left_rows(t, s, row0 + i, k + d, lanes) : @WORDS@{};
      transpose(square);
      for (int r = 0; r < lanes; ++r) @WSTORE@(panel + (i + r) * ld + k - depth.begin, square[r]);
    }
  }
  for (int64_t i = rows; i % MR != 0; ++i) std::fill_n(panel + i * ld, depth.size(), @WORD@{});
}
)kernel";

const std::string_view pack_left_scalar_text = R"kernel(
// Copies rows x depth of the left operand to [row][ld]; rows up to the next multiple of MR are zero.
static void pack_left(const operands& t, const slice& s, int64_t row0, int64_t rows, range depth, @WORD@* panel, int64_t ld) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t k = depth.begin; k < depth.end; ++k) panel[i * ld + k - depth.begin] = left_at(t, s, row0 + i, k);
  for (int64_t i = rows; i % MR != 0; ++i) std::fill_n(panel + i * ld, depth.size(), @WORD@{});
}
)kernel";

const std::string_view pairs_text = R"kernel(
// Panels hold pairs of 16-bit values that are neighbours along the depth, one pair per 32-bit word; depths count words.
// `left` elements remain from p on; words beyond them are zero.
template <class T>
static inline vi read_pairs(const T* p, int64_t left, int lanes) {
  if (lanes == LANES && left >= 2 * LANES) {
    if constexpr (sizeof(T) == 2) return viload(reinterpret_cast<const int32_t*>(p));
#if KS_AVX512
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return vi(std::is_signed_v<T> ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes));
#else
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return vi(std::is_signed_v<T> ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes));
#endif
  }
  int16_t elements[2 * LANES] = {};
  for (int64_t e = 0; e < std::min<int64_t>(2 * lanes, left); ++e) elements[e] = int16_t(p[e]);
  vi words;
  std::memcpy(&words, elements, sizeof words);
  return words;
}
template <class T>
[[gnu::always_inline]] static inline vi read_whole(const T* p, int lanes) {
  return lanes == LANES ? viload(p) : viload_n(p, lanes);
}
static inline vi join_pairs(vi low, vi high) { return (low & 0xffff) | (high << 16); }
static inline int32_t join_pair(int32_t low, int32_t high) { return int32_t((uint32_t(low) & 0xffff) | uint32_t(high) << 16); }
)kernel";

const std::string_view dot_integers_text = R"kernel(
// sum + a.low * b.low + a.high * b.high, exact in int32.
static inline vi dot_pair(vi a, vi b, vi sum) {
#if KS_AVX512 && defined(__AVX512VNNI__)
  return vi(_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b));
#elif KS_AVX512
  return sum + vi(_mm512_madd_epi16((__m512i)a, (__m512i)b));
#else
  return sum + vi(_mm256_madd_epi16((__m256i)a, (__m256i)b));
#endif
}
)kernel";

const std::string_view dot_bf16_text = R"kernel(
// sum + a.low * b.low + a.high * b.high: products of bf16 are exact in float.
static inline vf dot_pair(vi a, vi b, vf sum) {
#if KS_AVX512 && defined(__AVX512BF16__)
  return vf(_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b));
#else
  sum = vfma(vf(a << 16), vf(b << 16), sum);
  return vfma(vf(a & int32_t(0xffff0000)), vf(b & int32_t(0xffff0000)), sum);
#endif
}
)kernel";

const std::string_view multiply_text = R"kernel(
// out[i][j] (+)= sum over k of a[i * a_row + k * a_step] * b[k * b_step + j]; the MR x NR sums stay in registers.
[[gnu::always_inline]] static inline void multiply(const @WORD@* a, int64_t a_row, int64_t a_step, const @WORD@* b, int64_t b_step,
                                                   int64_t depth, sum_t* out, int64_t ld, bool add) {
  @SUMS@ sum[MR][NV];
#pragma GCC unroll 24
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) sum[i][v] = @SUMS@{};
#pragma GCC unroll @UNROLL@
  for (int64_t k = 0; k < depth; ++k) {
    @WORDS@ right[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) right[v] = @WLOAD@(b + k * b_step + v * LANES);
    @PREFETCH@
#pragma GCC unroll 24
    for (int i = 0; i < MR; ++i) {
      const @WORDS@ left = @WSPLAT@(a[i * a_row + k * a_step]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) sum[i][v] = @MAC@(left, right[v], sum[i][v]);
    }
  }
#pragma GCC unroll 24
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      sum_t* to = out + i * ld + v * LANES;
      @SSTORE@(to, add ? @SLOAD@(to) + sum[i][v] : sum[i][v]);
    }
}
)kernel";

}  // namespace kernsmith::agents::nest
