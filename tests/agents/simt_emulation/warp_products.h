// Stand-ins for what matrix products of warps are made of (mma_helpers_text of the gemm grammar and its instructions), see cuda_runtime.h
// beside this. Copies of every other thread are done at once, those of the rest as late as the waits allow, and shared memory that nothing
// was copied to holds garbage: a ring that is read too early or filled while it is read gives wrong results.
#pragma once

#include <array>
#include <deque>

#define KS_SHARED_ADDRESS
#define KS_WARP_PRODUCTS
#define KS_ASYNC_COPIES
#define KS_MMA_bf16_bf16
#define KS_MMA_f16_f16
#define KS_MMA_s8_s8
#define KS_MMA_s8_u8
#define KS_MMA_u8_s8
#define KS_MMA_u8_u8
#define KS_MMA_8x8x4_f64
#define KS_MMA_16x8x4_f64
#define KS_MMA_16x8x8_f64
#define KS_MMA_16x8x16_f64

static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline int __double2loint(double x) {
  int words[2];
  std::memcpy(words, &x, 8);
  return words[0];
}
static inline int __double2hiint(double x) {
  int words[2];
  std::memcpy(words, &x, 8);
  return words[1];
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }

namespace emulation {

struct late_copy {
  uint32_t to;
  const void* from;
  int bytes, all;  ///< so many of all; zeros behind them
};
/// Of each thread: groups of copies, the last still open.
static std::array<std::deque<std::vector<late_copy>>, most_threads> copies;

static inline std::deque<std::vector<late_copy>>& my_copies() {
  std::deque<std::vector<late_copy>>& mine = copies[m.now->number];
  if (mine.empty()) mine.emplace_back();
  return mine;
}

static inline void stop(const char* what) {
  std::fprintf(stderr, "emulation: %s\n", what);
  std::abort();
}

/// What every lane of a warp has, for each to look at: so many bytes.
template <class T>
static const T* all_lanes(const T& mine) {
  static T of_threads[most_threads];
  arrive_warp();
  of_threads[m.now->number] = mine;
  arrive_warp();
  return of_threads + m.now->number / warp * warp;
}

template <class V, int kLeft, int kRight>
struct lane_operands {
  V left[kLeft], right[kRight];
};

/// Element (row, depth) of a and (depth, column) of b by what the instruction set's manual says of 16-bit and 8-bit fragments, for bytes
/// `at` and up of the 32 along the depth.
static inline const unsigned char* left_bytes(const lane_operands<uint32_t, 4, 2>* lanes, int row, int at) {
  const int reg = row / 8 + at / 16 * 2;
  return reinterpret_cast<const unsigned char*>(&lanes[row % 8 * 4 + at % 16 / 4].left[reg]) + at % 4;
}
static inline const unsigned char* right_bytes(const lane_operands<uint32_t, 4, 2>* lanes, int column, int at) {
  return reinterpret_cast<const unsigned char*>(&lanes[column * 4 + at % 16 / 4].right[at / 16]) + at % 4;
}

template <class A, class B, class S, class F>
static void product(S* c, const uint32_t* a, const uint32_t* b, F value) {
  lane_operands<uint32_t, 4, 2> mine;
  std::memcpy(mine.left, a, sizeof mine.left);
  std::memcpy(mine.right, b, sizeof mine.right);
  const auto* lanes = all_lanes(mine);
  const int lane = int(m.now->number % warp);
  for (int e = 0; e < 4; ++e)
    for (int at = 0; at < 32; at += int(sizeof(A))) {
      A x;
      B y;
      std::memcpy(&x, left_bytes(lanes, lane / 4 + e / 2 * 8, at), sizeof x);
      std::memcpy(&y, right_bytes(lanes, lane % 4 * 2 + e % 2, at), sizeof y);
      c[e] += value(x) * value(y);
    }
}

/// f64: rows 8 or 16, kDepth in fours; a's registers alternate between the halves of 16 rows.
template <int kRows, int kDepth>
static void product64(double* c, const double* a, const double* b) {
  constexpr int halves = kRows / 8, fours = kDepth / 4;
  lane_operands<double, halves * fours, fours> mine;
  std::memcpy(mine.left, a, sizeof mine.left);
  std::memcpy(mine.right, b, sizeof mine.right);
  const auto* lanes = all_lanes(mine);
  const int lane = int(m.now->number % warp);
  for (int half = 0; half < halves; ++half)
    for (int e = 0; e < 2; ++e)
      for (int k = 0; k < kDepth; ++k)
        c[2 * half + e] += lanes[lane / 4 * 4 + k % 4].left[k / 4 * halves + half] * lanes[(lane % 4 * 2 + e) * 4 + k % 4].right[k / 4];
}

static inline float bf16_value(uint16_t bits) {
  const uint32_t u = uint32_t(bits) << 16;
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

}  // namespace emulation

static inline uint32_t ks_shared_address(const void* p) { return uint32_t(static_cast<const unsigned char*>(p) - emulation::m.shared); }
namespace emulation {
static inline void do_copy(const late_copy& c) {
  std::memset(m.shared + c.to, 0, size_t(c.all));
  if (c.bytes > 0) std::memcpy(m.shared + c.to, c.from, size_t(c.bytes));
}
}  // namespace emulation
template <int kBytes>
static void ks_copy(uint32_t to, const void* from, int bytes) {
  if (to % kBytes != 0 || to + kBytes > emulation::m.shared_stride) emulation::stop("a copy to a wrong place in shared memory");
  if (bytes > 0 && reinterpret_cast<uintptr_t>(from) % kBytes != 0) emulation::stop("a copy from an odd address");
  if (emulation::m.now->number % 2 == 0)
    emulation::do_copy({to, from, bytes, kBytes});
  else
    emulation::my_copies().back().push_back({to, from, bytes, kBytes});
}
static inline void ks_copies_commit() { emulation::my_copies().emplace_back(); }
template <int kPending>
static void ks_copies_wait() {
  auto& groups = emulation::my_copies();
  for (; groups.size() > kPending + 1; groups.pop_front())
    for (const emulation::late_copy& c : groups.front()) emulation::do_copy(c);
}
template <bool kTransposed>
static void ks_load_matrices(uint32_t (&matrices)[4], uint32_t address) {
  if (address % 16 != 0 || address + 16 > emulation::m.shared_stride) emulation::stop("a matrix at a wrong place in shared memory");
  const uint32_t* const rows = emulation::all_lanes(address);
  const unsigned lane = emulation::m.now->number % emulation::warp;
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned e = 0; e < 2; ++e) {
      const unsigned row = kTransposed ? lane % 4 * 2 + e : lane / 4, column = kTransposed ? lane / 4 : lane % 4 * 2 + e;
      std::memcpy(reinterpret_cast<char*>(&matrices[i]) + 2 * e, emulation::m.shared + rows[8 * i + row] + 2 * column, 2);
    }
}
static inline void ks_load_pair(double& a, double& b, uint32_t address) {
  if (address % 16 != 0 || address + 16 > emulation::m.shared_stride) emulation::stop("a pair at a wrong place in shared memory");
  std::memcpy(&a, emulation::m.shared + address, 8);
  std::memcpy(&b, emulation::m.shared + address + 8, 8);
}

static inline void ks_mma_bf16_bf16(float* c, const uint32_t* a, const uint32_t* b) {
  emulation::product<uint16_t, uint16_t>(c, a, b, emulation::bf16_value);
}
static inline void ks_mma_f16_f16(float* c, const uint32_t* a, const uint32_t* b) {
  emulation::product<_Float16, _Float16>(c, a, b, [](_Float16 x) { return float(x); });
}
static inline void ks_mma_s8_s8(int32_t* c, const uint32_t* a, const uint32_t* b) {
  emulation::product<int8_t, int8_t>(c, a, b, [](int x) { return x; });
}
static inline void ks_mma_s8_u8(int32_t* c, const uint32_t* a, const uint32_t* b) {
  emulation::product<int8_t, uint8_t>(c, a, b, [](int x) { return x; });
}
static inline void ks_mma_u8_s8(int32_t* c, const uint32_t* a, const uint32_t* b) {
  emulation::product<uint8_t, int8_t>(c, a, b, [](int x) { return x; });
}
static inline void ks_mma_u8_u8(int32_t* c, const uint32_t* a, const uint32_t* b) {
  emulation::product<uint8_t, uint8_t>(c, a, b, [](int x) { return x; });
}
static inline void ks_mma_8x8x4_f64(double* c, const double* a, const double* b) { emulation::product64<8, 4>(c, a, b); }
static inline void ks_mma_16x8x4_f64(double* c, const double* a, const double* b) { emulation::product64<16, 4>(c, a, b); }
static inline void ks_mma_16x8x8_f64(double* c, const double* a, const double* b) { emulation::product64<16, 8>(c, a, b); }
static inline void ks_mma_16x8x16_f64(double* c, const double* a, const double* b) { emulation::product64<16, 16>(c, a, b); }
