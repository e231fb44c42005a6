#include "backends/cuda/generated_prelude.hpp"

namespace kernsmith::cuda {

const std::string& generated_prelude() {
  static const std::string text = R"prelude(
#include "kernsmith_kernel.h"

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace {

constexpr int threads_per_block = 256;
constexpr int64_t most_blocks = 1 << 20;
constexpr int64_t few_elements = 1 << 16, many_terms = 128;  // then a whole block reduces for one element

// f16 with one rounding from either float type.
struct half_value {
  __half bits;
  half_value() = default;
  __device__ explicit half_value(float value) : bits(__float2half(value)) {}
  __device__ explicit half_value(double value) : bits(__double2half(value)) {}
  __device__ explicit half_value(int64_t value) : bits(__double2half(static_cast<double>(value))) {}
  __device__ operator float() const { return __half2float(bits); }
};

__device__ inline float from_bf16(uint16_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits) << 16);
}

// Round to nearest even from a float.
__device__ inline uint16_t to_bf16(float value) {
  const uint32_t bits = __float_as_uint(value);
  if (value != value) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// From a double in one rounding: the float in between is rounded to odd, so that no tie is decided twice.
__device__ inline uint16_t to_bf16(double value) {
  const float narrow = __double2float_rn(value);
  if (!isfinite(value) || static_cast<double>(narrow) == value) return to_bf16(narrow);
  uint32_t bits = __float_as_uint(narrow);
  if (fabs(static_cast<double>(narrow)) > fabs(value)) --bits;
  return to_bf16(__uint_as_float(bits | 1u));
}

// OCP 8-bit floats: `low` is the least normal exponent, `mantissa` the number of stored fraction bits.
__device__ inline double decode_f8(uint8_t bits, int mantissa, int low, bool has_infinity) {
  const int magnitude = bits & 0x7f;
  const int exponent = magnitude >> mantissa, fraction = magnitude & ((1 << mantissa) - 1);
  double value;
  if (has_infinity && exponent == 127 >> mantissa) {
    value = fraction != 0 ? nan("") : static_cast<double>(INFINITY);
  } else if (!has_infinity && magnitude == 0x7f) {
    value = nan("");
  } else {
    value = exponent == 0 ? ldexp(static_cast<double>(fraction), low - mantissa)
                          : ldexp(static_cast<double>((1 << mantissa) + fraction), exponent - 1 + low - mantissa);
  }
  return (bits & 0x80) != 0 ? -value : value;
}

__device__ inline uint8_t encode_f8(double value, int mantissa, int low, double largest, uint8_t above) {
  const uint8_t sign = signbit(value) ? 0x80 : 0;
  if (value != value) return static_cast<uint8_t>(sign | 0x7f);
  const double size = fabs(value);
  if (size == 0) return sign;
  if (isinf(size)) return static_cast<uint8_t>(sign | above);
  const int natural = ilogb(size), exponent = natural > low ? natural : low;
  const double units = rint(ldexp(size, mantissa - exponent));
  if (ldexp(units, exponent - mantissa) > largest) return static_cast<uint8_t>(sign | above);
  // A carry out of the fraction moves the exponent by itself.
  return static_cast<uint8_t>(sign | (static_cast<int>(units) + ((exponent - low) << mantissa)));
}

__device__ inline float from_f8e4m3(uint8_t bits) {
  return static_cast<float>(decode_f8(bits, 3, -6, false));
}
__device__ inline float from_f8e5m2(uint8_t bits) {
  return static_cast<float>(decode_f8(bits, 2, -14, true));
}
__device__ inline uint8_t to_f8e4m3(double value) {
  return encode_f8(value, 3, -6, 448.0, 0x7f);
}
__device__ inline uint8_t to_f8e5m2(double value) {
  return encode_f8(value, 2, -14, 57344.0, 0x7c);
}

// Truncated towards zero and saturated; NaN becomes 0.
template <class T>
__device__ inline int64_t saturated(double value) {
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  if (value != value) return 0;
  if (value <= static_cast<double>(low)) return static_cast<int64_t>(low);
  if (value >= static_cast<double>(high)) return static_cast<int64_t>(high);
  return static_cast<int64_t>(value);
}

// An integer held to the range of a narrower type.
template <class T>
__device__ inline int64_t clamped(int64_t value) {
  constexpr int64_t low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  return value < low ? low : value > high ? high : value;
}

// Integer arithmetic wraps.
__device__ inline int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
__device__ inline int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
__device__ inline int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// A NaN on either side wins.
template <class T>
__device__ inline T larger(T a, T b) {
  return (a > b || a != a) ? a : b;
}
template <class T>
__device__ inline T smaller(T a, T b) {
  return (a < b || a != a) ? a : b;
}

__device__ inline bool inside(int64_t position, int64_t extent) {
  return static_cast<uint64_t>(position) < static_cast<uint64_t>(extent);
}

// Combines one value of each thread, always in the same order; the first thread's answer is the whole one.
template <class T, class Combine>
__device__ T across_block(T own, Combine combine) {
  __shared__ T parts[threads_per_block];
  __syncthreads();
  parts[threadIdx.x] = own;
  for (int half = threads_per_block / 2; half > 0; half /= 2) {
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < half) parts[threadIdx.x] = combine(parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  __syncthreads();
  return parts[0];
}

// Device memory that stays allocated between calls.
struct scratch_memory {
  void* data = nullptr;
  size_t bytes = 0;
};
template <class T>
T* scratch(scratch_memory& memory, int64_t count) {
  const size_t wanted = static_cast<size_t>(count) * sizeof(T);
  if (memory.bytes < wanted) {
    cudaFree(memory.data);
    memory = {};
    if (cudaMalloc(&memory.data, wanted) != cudaSuccess) return nullptr;
    memory.bytes = wanted;
  }
  return static_cast<T*>(memory.data);
}

// `each`: one thread per element. `together` (may be null): one block per element.
template <class View>
void run(void (*each)(View), void (*together)(View), int64_t elements, int64_t terms, const View& view, cudaStream_t stream) {
  if (together != nullptr && elements < few_elements && terms >= many_terms) {
    together<<<static_cast<unsigned>(elements), threads_per_block, 0, stream>>>(view);
    return;
  }
  const int64_t blocks = (elements + threads_per_block - 1) / threads_per_block;
  each<<<static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks), threads_per_block, 0, stream>>>(view);
}

}  // namespace
)prelude";
  return text;
}

}  // namespace kernsmith::cuda
