// Device code that the verifier runs in its own context: filling, comparing, hashing and renewing buffers. Built once for each machine and
// kept in the build cache. What it says decides verdicts, so it shares no process with candidates; its comparison gives what
// backends/harness/comparison.cpp gives, and tests hold the two against each other.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cfloat>
#include <cmath>
#include <cstdint>

namespace {

constexpr double max_reported_error = 1e30;

__device__ std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/// The n-th draw of a stream.
__device__ std::uint64_t draw(std::uint64_t seed, std::uint64_t n) {
  return mix(seed + (n + 1) * 0x9e3779b97f4a7c15ull);
}

__device__ std::uint64_t first_of_grid() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::uint64_t grid_stride() {
  return static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
}

}  // namespace

/// Does nothing: the device is well when it ends.
extern "C" __global__ void ks_noop() {}

/// A repeated 8-byte word; `data` is 8-byte aligned.
extern "C" __global__ void ks_fill(std::uint64_t* data, std::uint64_t bytes, std::uint64_t word) {
  const std::uint64_t words = bytes / 8;
  for (std::uint64_t i = first_of_grid(); i < words; i += grid_stride()) data[i] = word;
  if (first_of_grid() == 0) {
    for (std::uint64_t at = words * 8; at < bytes; ++at)
      reinterpret_cast<std::uint8_t*>(data)[at] = static_cast<std::uint8_t>(word >> (8 * (at % 8)));
  }
}

/// Memory around the data, as addresses. One block row per range.
struct byte_range {
  std::uint64_t begin, end;
};

extern "C" __global__ void ks_fill_ranges(const byte_range* ranges, std::uint64_t word) {
  const byte_range range = ranges[blockIdx.y];
  for (std::uint64_t at = range.begin + first_of_grid(); at < range.end; at += grid_stride())
    *reinterpret_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(word >> (8 * (at % 8)));
}

/// touched[range] becomes 1 where a byte differs from the pattern.
extern "C" __global__ void ks_check_ranges(const byte_range* ranges, std::uint64_t word, std::uint32_t* touched) {
  const byte_range range = ranges[blockIdx.y];
  for (std::uint64_t at = range.begin + first_of_grid(); at < range.end; at += grid_stride()) {
    if (*reinterpret_cast<const std::uint8_t*>(at) != static_cast<std::uint8_t>(word >> (8 * (at % 8)))) touched[blockIdx.y] = 1;
  }
}

/// Becomes 1 where two stretches differ; both 8-byte aligned.
extern "C" __global__ void ks_same(const std::uint64_t* a, const std::uint64_t* b, std::uint64_t bytes, std::uint32_t* differs) {
  const std::uint64_t words = bytes / 8;
  bool other = false;
  for (std::uint64_t i = first_of_grid(); i < words; i += grid_stride()) other |= a[i] != b[i];
  if (first_of_grid() == 0) {
    for (std::uint64_t at = words * 8; at < bytes; ++at)
      other |= reinterpret_cast<const std::uint8_t*>(a)[at] != reinterpret_cast<const std::uint8_t*>(b)[at];
  }
  if (other) *differs = 1;
}

/// Adds a hash over position and content; equal for equal bytes.
extern "C" __global__ void ks_fingerprint(const std::uint64_t* data, std::uint64_t bytes, unsigned long long* sum) {
  const std::uint64_t words = bytes / 8;
  std::uint64_t own = 0;
  for (std::uint64_t i = first_of_grid(); i < words; i += grid_stride()) own += mix(data[i] ^ (i * 0x9e3779b97f4a7c15ull));
  if (first_of_grid() == 0) {
    std::uint64_t last = 0;
    for (std::uint64_t at = words * 8; at < bytes; ++at)
      last = last << 8 | reinterpret_cast<const std::uint8_t*>(data)[at];
    own += mix(last ^ bytes);
  }
  for (int lane = 16; lane > 0; lane /= 2) own += __shfl_down_sync(0xffffffffu, own, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, static_cast<unsigned long long>(own));
}

/// One tensor whose contents change.
struct renewal_item {
  std::uint64_t to, from;  ///< `from`: pristine contents of the same tensor, or new ones
  std::uint64_t elements;
  std::uint32_t element_bytes;
  std::uint32_t kind;      ///< 0: `blocks` short stretches from elsewhere; 1: all of it, turned by a distance; 2: written again as it is; 3: copied
  std::uint64_t seed;
  std::uint64_t blocks;
  std::uint64_t block_elements;
};

/// One row of blocks per item. Stretches lie in stripes of their own, so that the order of writing decides nothing.
extern "C" __global__ void ks_renew(const renewal_item* items) {
  const renewal_item item = items[blockIdx.y];
  auto* const to = reinterpret_cast<std::uint8_t*>(item.to);
  const auto* const from = reinterpret_cast<const std::uint8_t*>(item.from);
  const std::uint64_t size = item.element_bytes, bytes = item.elements * size;
  switch (item.kind) {
    case 0: {
      const std::uint64_t stripe = item.elements / item.blocks;
      for (std::uint64_t b = blockIdx.x; b < item.blocks; b += gridDim.x) {
        const std::uint64_t room = stripe - item.block_elements + 1;
        const std::uint64_t into = b * stripe + draw(item.seed, 2 * b) % room;
        const std::uint64_t out_of = draw(item.seed, 2 * b + 1) % (item.elements - item.block_elements + 1);
        for (std::uint64_t at = threadIdx.x; at < item.block_elements * size; at += blockDim.x) to[into * size + at] = from[out_of * size + at];
      }
      break;
    }
    case 1: {
      const std::uint64_t shift = (1 + draw(item.seed, 0) % (item.elements - 1)) * size;
      if (size % 4 == 0) {
        const std::uint64_t words = bytes / 4, turn = shift / 4;
        for (std::uint64_t i = first_of_grid(); i < words; i += grid_stride()) {
          const std::uint64_t source = i + turn < words ? i + turn : i + turn - words;
          reinterpret_cast<std::uint32_t*>(to)[i] = reinterpret_cast<const std::uint32_t*>(from)[source];
        }
      } else if (size == 2) {
        const std::uint64_t words = bytes / 2, turn = shift / 2;
        for (std::uint64_t i = first_of_grid(); i < words; i += grid_stride()) {
          const std::uint64_t source = i + turn < words ? i + turn : i + turn - words;
          reinterpret_cast<std::uint16_t*>(to)[i] = reinterpret_cast<const std::uint16_t*>(from)[source];
        }
      } else {
        for (std::uint64_t i = first_of_grid(); i < bytes; i += grid_stride()) to[i] = from[i + shift < bytes ? i + shift : i + shift - bytes];
      }
      break;
    }
    case 2: {
      auto* const words = reinterpret_cast<volatile std::uint32_t*>(to);
      for (std::uint64_t i = first_of_grid(); i < bytes / 4; i += grid_stride()) words[i] = words[i];
      break;
    }
    default:
      for (std::uint64_t i = first_of_grid(); i < bytes; i += grid_stride()) to[i] = from[i];
  }
}

namespace {

enum element_type { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, boolean };
enum comparison_mode { bitwise, ulp, allclose, normwise };

}  // namespace

/// What one output is compared with and how; as in harness::compare.
struct comparison_task {
  std::uint64_t got, expected;
  std::uint64_t count;
  std::int32_t type, mode, wide, rounds;  ///< rounds: `expected` is wide and the mode asks for the dtype's own values
  double atol, rtol;                      ///< scaled
  double units;                           ///< ulp, scaled
  double least, ulp_factor, magic_factor, largest, overflow;  ///< of the float format
};

struct comparison_sums {
  unsigned long long worst_bits;  ///< of a double >= 0: its bits order as it does
  unsigned long long failures;
  unsigned long long first;  ///< position + 1 counted down from the largest number, so that 0 means none
  double difference2, reference2;
};

namespace {

__device__ double from_f8e4m3(std::uint8_t bits) {
  const int magnitude = bits & 0x7f, exponent = magnitude >> 3, fraction = magnitude & 7;
  if (magnitude == 0x7f) return nan("");
  const double size = exponent == 0 ? ldexp(static_cast<double>(fraction), -9) : ldexp(static_cast<double>(8 + fraction), exponent - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

template <int type>
__device__ double real_at(const void* data, std::uint64_t i) {
  if constexpr (type == f64) return static_cast<const double*>(data)[i];
  if constexpr (type == f32) return static_cast<const float*>(data)[i];
  if constexpr (type == f16) return __half2float(static_cast<const __half*>(data)[i]);
  if constexpr (type == bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
  if constexpr (type == f8e4m3) return from_f8e4m3(static_cast<const std::uint8_t*>(data)[i]);
  return __half2float(__ushort_as_half(static_cast<unsigned short>(static_cast<const std::uint8_t*>(data)[i] << 8)));  // f8e5m2
}

template <int type>
__device__ std::int64_t integer_at(const void* data, std::uint64_t i) {
  if constexpr (type == i64) return static_cast<const std::int64_t*>(data)[i];
  if constexpr (type == i32) return static_cast<const std::int32_t*>(data)[i];
  if constexpr (type == i16) return static_cast<const std::int16_t*>(data)[i];
  if constexpr (type == i8) return static_cast<const std::int8_t*>(data)[i];
  return static_cast<const std::uint8_t*>(data)[i];
}

template <int type>
__device__ std::int64_t wrapped(std::int64_t value) {
  if constexpr (type == i32) return static_cast<std::int32_t>(value);
  if constexpr (type == i16) return static_cast<std::int16_t>(value);
  if constexpr (type == i8) return static_cast<std::int8_t>(value);
  if constexpr (type == u8) return static_cast<std::uint8_t>(value);
  if constexpr (type == boolean) return value != 0 ? 1 : 0;
  return value;
}

__device__ double binade_of(double x, double least) {
  const double power = __longlong_as_double(__double_as_longlong(x) & 0x7ff0000000000000ll);
  return power > least ? power : least;
}

/// To nearest even in a narrower format, by adding and subtracting a number whose last place is the format's.
__device__ double rounded_to(const comparison_task& t, double x) {
  if (!(fabs(x) <= DBL_MAX)) return isinf(x) && isnan(t.overflow) ? t.overflow : x;
  const double magic = __dmul_rn(binade_of(x, t.least), t.magic_factor);
  const double near = __dadd_rn(__dadd_rn(x, magic), -magic);
  return fabs(near) <= t.largest ? near : (x < 0 ? -t.overflow : t.overflow);
}

struct verdict {
  double error = 0;
  bool bad = false;
};

__device__ verdict judge(double got, double expected, double tolerance) {
  if (got == expected || (got != got && expected != expected)) return {};
  const double difference = fabs(got - expected);
  double error = difference / tolerance;
  if (!(error <= max_reported_error)) error = max_reported_error;
  return {error, !(difference <= tolerance)};
}

struct running_sums {
  double worst = 0, difference2 = 0, reference2 = 0;
  std::uint64_t failures = 0, first = 0;  ///< as in comparison_sums
  __device__ void fail(std::uint64_t at) {
    ++failures;
    const std::uint64_t place = ~at;
    first = place > first ? place : first;
  }
};

template <int type>
__device__ void compare_real(const comparison_task& t, std::uint64_t i, running_sums& sums) {
  const double got = real_at<type>(reinterpret_cast<const void*>(t.got), i);
  double r = t.wide != 0 ? reinterpret_cast<const double*>(t.expected)[i] : real_at<type>(reinterpret_cast<const void*>(t.expected), i);
  if (type != f64 && t.rounds != 0) r = rounded_to(t, r);
  const double size = fabs(r);
  if (t.mode == normwise) {
    if (size <= DBL_MAX && fabs(got) <= DBL_MAX) {
      const double d = got - r;
      sums.difference2 += d * d;
      sums.reference2 += r * r;
    } else if (!(got == r || (got != got && r != r))) {
      sums.worst = max_reported_error;
      sums.fail(i);
    }
    return;
  }
  double tolerance = 0;
  if (size <= DBL_MAX) tolerance = t.mode == allclose ? t.atol + t.rtol * size : binade_of(r, t.least) * (t.ulp_factor * t.units);
  const verdict v = judge(got, r, tolerance);
  sums.worst = fmax(sums.worst, v.error);
  if (v.bad) sums.fail(i);
}

template <int type>
__device__ void compare_integer(const comparison_task& t, std::uint64_t i, running_sums& sums) {
  const std::int64_t got = integer_at<type>(reinterpret_cast<const void*>(t.got), i);
  const std::int64_t expected = t.wide != 0 ? wrapped<type>(reinterpret_cast<const std::int64_t*>(t.expected)[i])
                                            : integer_at<type>(reinterpret_cast<const void*>(t.expected), i);
  if (got == expected) return;
  const double r = static_cast<double>(expected), difference = fabs(static_cast<double>(got) - r);
  double tolerance = 0;
  if (t.mode == ulp) tolerance = t.units;
  if (t.mode == allclose) tolerance = t.atol + t.rtol * fabs(r);
  const double error = tolerance > 0 ? fmin(difference / tolerance, max_reported_error) : max_reported_error;
  sums.worst = fmax(sums.worst, error);
  if (error > 1.0) sums.fail(i);
}

template <int type>
__device__ void compare_all(const comparison_task& t, comparison_sums* out) {
  running_sums sums;
  for (std::uint64_t i = first_of_grid(); i < t.count; i += grid_stride()) {
    if constexpr (type <= f8e5m2) {
      compare_real<type>(t, i, sums);
    } else {
      compare_integer<type>(t, i, sums);
    }
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    sums.worst = fmax(sums.worst, __shfl_down_sync(0xffffffffu, sums.worst, lane));
    sums.difference2 += __shfl_down_sync(0xffffffffu, sums.difference2, lane);
    sums.reference2 += __shfl_down_sync(0xffffffffu, sums.reference2, lane);
    sums.failures += __shfl_down_sync(0xffffffffu, sums.failures, lane);
    const std::uint64_t other = __shfl_down_sync(0xffffffffu, sums.first, lane);
    sums.first = other > sums.first ? other : sums.first;
  }
  if (threadIdx.x % 32 != 0) return;
  if (sums.worst > 0) atomicMax(&out->worst_bits, static_cast<unsigned long long>(__double_as_longlong(sums.worst)));
  if (sums.failures > 0) {
    atomicAdd(&out->failures, static_cast<unsigned long long>(sums.failures));
    atomicMax(&out->first, static_cast<unsigned long long>(sums.first));
  }
  if (t.mode == normwise) {
    atomicAdd(&out->difference2, sums.difference2);
    atomicAdd(&out->reference2, sums.reference2);
  }
}

}  // namespace

/// The block must be whole warps. `out` begins as zeros.
extern "C" __global__ void ks_compare(const comparison_task t, comparison_sums* out) {
  switch (t.type) {
    case f64:
      return compare_all<f64>(t, out);
    case f32:
      return compare_all<f32>(t, out);
    case f16:
      return compare_all<f16>(t, out);
    case bf16:
      return compare_all<bf16>(t, out);
    case f8e4m3:
      return compare_all<f8e4m3>(t, out);
    case f8e5m2:
      return compare_all<f8e5m2>(t, out);
    case i64:
      return compare_all<i64>(t, out);
    case i32:
      return compare_all<i32>(t, out);
    case i16:
      return compare_all<i16>(t, out);
    case i8:
      return compare_all<i8>(t, out);
    case u8:
      return compare_all<u8>(t, out);
    default:
      return compare_all<boolean>(t, out);
  }
}

/// For the device's peaks: a copy in 16-byte pieces, and multiply-adds in registers.
extern "C" __global__ void ks_copy(uint4* to, const uint4* from, std::uint64_t pieces) {
  for (std::uint64_t i = first_of_grid(); i < pieces; i += grid_stride()) to[i] = from[i];
}

extern "C" __global__ void ks_multiply_add(float* to, float factor, int rounds) {
  float sum[16];
  for (int k = 0; k < 16; ++k) sum[k] = static_cast<float>(threadIdx.x + k);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int k = 0; k < 16; ++k) sum[k] = fmaf(sum[k], factor, 1.0f);
  }
  float total = 0;
  for (int k = 0; k < 16; ++k) total += sum[k];
  if (total == 0.5f) to[first_of_grid()] = total;  // never, but the compiler can't know
}
