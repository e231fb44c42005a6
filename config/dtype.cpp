#include "config/dtype.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kernsmith {

namespace {

constexpr std::array<std::string_view, dtype_count> names = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2",
                                                             "i64", "i32", "i16", "i8",   "u8",     "bool"};

/// A binary float format of at most 16 bits.
struct small_float {
  int total_bits;
  int mantissa_bits;      ///< stored bits of significand
  int smallest_exponent;  ///< of the smallest normal number: 2^smallest_exponent
  int largest_exponent;
  std::uint32_t infinity;  ///< bits of the value that overflow gives: infinity, or NaN where the format has no infinity
  std::uint32_t nan;
  std::uint32_t largest;  ///< bits of the largest finite value
};

constexpr small_float f16_format{16, 10, -14, 15, 0x7C00, 0x7E00, 0x7BFF};
constexpr small_float bf16_format{16, 7, -126, 127, 0x7F80, 0x7FC0, 0x7F7F};
constexpr small_float f8e4m3_format{8, 3, -6, 8, 0x7F, 0x7F, 0x7E};  // OCP "fn": no infinity; 1111.111 is NaN
constexpr small_float f8e5m2_format{8, 2, -14, 15, 0x7C, 0x7E, 0x7B};

constexpr int double_mantissa_bits = 52;
constexpr int double_bias = 1023;

/// Round to nearest even straight from double: going through float first would round twice.
std::uint32_t encode(double value, const small_float& format) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 63) << (format.total_bits - 1);
  if (magnitude > 0x7FF0000000000000u) return sign | format.nan;
  const int exponent = static_cast<int>(magnitude >> double_mantissa_bits) - double_bias;
  if (exponent > format.largest_exponent) return sign | format.infinity;
  if (exponent < format.smallest_exponent) {
    // Adding 2^52 quanta makes the hardware round to a whole number of quanta, to even on ties.
    const int quantum_exponent = format.smallest_exponent - format.mantissa_bits;
    const auto magic_bits = static_cast<std::uint64_t>(quantum_exponent + double_mantissa_bits + double_bias) << double_mantissa_bits;
    const double sum = std::bit_cast<double>(magnitude) + std::bit_cast<double>(magic_bits);
    return sign | static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(sum) - magic_bits);
  }
  const int shift = double_mantissa_bits - format.mantissa_bits;
  const std::uint64_t odd = (magnitude >> shift) & 1;
  const std::uint64_t rounded = (magnitude + ((std::uint64_t{1} << (shift - 1)) - 1 + odd)) >> shift;
  const auto rebias = static_cast<std::uint64_t>(double_bias + format.smallest_exponent - 1) << format.mantissa_bits;
  const auto result = static_cast<std::uint32_t>(rounded - rebias);
  return sign | (result > format.largest ? format.infinity : result);
}

double decode(std::uint32_t bits, const small_float& format) {
  const bool negative = (bits >> (format.total_bits - 1)) != 0;
  const std::uint32_t magnitude = bits & ((1u << (format.total_bits - 1)) - 1);
  double value = 0;
  if (magnitude > format.largest) {
    const bool infinite = format.infinity != format.nan && magnitude == format.infinity;
    value = infinite ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if ((magnitude >> format.mantissa_bits) == 0) {
    value = std::ldexp(static_cast<double>(magnitude), format.smallest_exponent - format.mantissa_bits);
  } else {
    const auto rebias = static_cast<std::uint64_t>(double_bias + format.smallest_exponent - 1) << double_mantissa_bits;
    const auto widened = static_cast<std::uint64_t>(magnitude) << (double_mantissa_bits - format.mantissa_bits);
    value = std::bit_cast<double>(widened + rebias);
  }
  return negative ? -value : value;
}

template <class T>
T read(const void* array, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(array) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void write(void* array, std::size_t index, T value) {
  std::memcpy(static_cast<char*>(array) + index * sizeof(T), &value, sizeof(T));
}

template <class T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  // The upper bound of i64 is not a double; its successor 2^63 is, so the test is "at or above".
  constexpr T half = std::numeric_limits<T>::max() / 2 + 1;
  constexpr double above = static_cast<double>(half) * 2.0;
  constexpr double lowest = static_cast<double>(std::numeric_limits<T>::min());
  if (value >= above) return std::numeric_limits<T>::max();
  if (value <= lowest) return std::numeric_limits<T>::min();
  return static_cast<T>(value);
}

/// Conversions of one element type; visit() picks the type once, so that loops over elements are free of branches on it.
template <class T>
struct native_float {
  static double as_double(const void* array, std::size_t i) { return static_cast<double>(read<T>(array, i)); }
  static std::int64_t as_int64(const void* array, std::size_t i) { return saturate<std::int64_t>(as_double(array, i)); }
  static void from_double(void* array, std::size_t i, double value) { write(array, i, static_cast<T>(value)); }
  static void from_int64(void* array, std::size_t i, std::int64_t value) { write(array, i, static_cast<T>(value)); }
};

template <class Bits, const small_float& format>
struct narrow_float {
  static double as_double(const void* array, std::size_t i) { return decode(read<Bits>(array, i), format); }
  static std::int64_t as_int64(const void* array, std::size_t i) { return saturate<std::int64_t>(as_double(array, i)); }
  static void from_double(void* array, std::size_t i, double value) { write(array, i, static_cast<Bits>(encode(value, format))); }
  static void from_int64(void* array, std::size_t i, std::int64_t value) { from_double(array, i, static_cast<double>(value)); }
};

template <class T>
struct native_integer {
  static double as_double(const void* array, std::size_t i) { return static_cast<double>(read<T>(array, i)); }
  static std::int64_t as_int64(const void* array, std::size_t i) { return read<T>(array, i); }
  static void from_double(void* array, std::size_t i, double value) { write(array, i, saturate<T>(value)); }
  static void from_int64(void* array, std::size_t i, std::int64_t value) { write(array, i, static_cast<T>(value)); }
};

struct truth_value {
  static double as_double(const void* array, std::size_t i) { return static_cast<double>(as_int64(array, i)); }
  static std::int64_t as_int64(const void* array, std::size_t i) { return read<std::uint8_t>(array, i) != 0 ? 1 : 0; }
  static void from_double(void* array, std::size_t i, double value) { write(array, i, static_cast<std::uint8_t>(value != 0 ? 1 : 0)); }
  static void from_int64(void* array, std::size_t i, std::int64_t value) { write(array, i, static_cast<std::uint8_t>(value != 0 ? 1 : 0)); }
};

template <class Use>
void visit(dtype type, Use use) {
  switch (type) {
    case dtype::f64:
      return use(native_float<double>{});
    case dtype::f32:
      return use(native_float<float>{});
    case dtype::f16:
      return use(narrow_float<std::uint16_t, f16_format>{});
    case dtype::bf16:
      return use(narrow_float<std::uint16_t, bf16_format>{});
    case dtype::f8e4m3:
      return use(narrow_float<std::uint8_t, f8e4m3_format>{});
    case dtype::f8e5m2:
      return use(narrow_float<std::uint8_t, f8e5m2_format>{});
    case dtype::i64:
      return use(native_integer<std::int64_t>{});
    case dtype::i32:
      return use(native_integer<std::int32_t>{});
    case dtype::i16:
      return use(native_integer<std::int16_t>{});
    case dtype::i8:
      return use(native_integer<std::int8_t>{});
    case dtype::u8:
      return use(native_integer<std::uint8_t>{});
    case dtype::boolean:
      return use(truth_value{});
  }
}

}  // namespace

std::string_view name_of(dtype type) {
  return names[static_cast<std::size_t>(type)];
}

std::optional<dtype> dtype_from_name(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<dtype>(i);
  return std::nullopt;
}

std::span<const std::string_view> dtype_names() {
  return names;
}

double unit_roundoff(dtype type) {
  switch (type) {
    case dtype::f64:
      return 0x1p-53;
    case dtype::f32:
      return 0x1p-24;
    case dtype::f16:
      return 0x1p-11;
    case dtype::bf16:
      return 0x1p-8;
    case dtype::f8e4m3:
      return 0x1p-4;
    case dtype::f8e5m2:
      return 0x1p-3;
    default:
      return 0;
  }
}

double largest_finite(dtype type) {
  switch (type) {
    case dtype::f64:
      return std::numeric_limits<double>::max();
    case dtype::f32:
      return static_cast<double>(std::numeric_limits<float>::max());
    case dtype::f16:
      return decode(f16_format.largest, f16_format);
    case dtype::bf16:
      return decode(bf16_format.largest, bf16_format);
    case dtype::f8e4m3:
      return decode(f8e4m3_format.largest, f8e4m3_format);
    case dtype::f8e5m2:
      return decode(f8e5m2_format.largest, f8e5m2_format);
    case dtype::i64:
      return static_cast<double>(std::numeric_limits<std::int64_t>::max());
    case dtype::i32:
      return std::numeric_limits<std::int32_t>::max();
    case dtype::i16:
      return std::numeric_limits<std::int16_t>::max();
    case dtype::i8:
      return std::numeric_limits<std::int8_t>::max();
    case dtype::u8:
      return std::numeric_limits<std::uint8_t>::max();
    case dtype::boolean:
      return 1;
  }
  return 0;
}

double lowest_value(dtype type) {
  switch (type) {
    case dtype::i64:
      return static_cast<double>(std::numeric_limits<std::int64_t>::min());
    case dtype::i32:
      return std::numeric_limits<std::int32_t>::min();
    case dtype::i16:
      return std::numeric_limits<std::int16_t>::min();
    case dtype::i8:
      return std::numeric_limits<std::int8_t>::min();
    case dtype::u8:
    case dtype::boolean:
      return 0;
    default:
      return -largest_finite(type);
  }
}

double smallest_normal(dtype type) {
  switch (type) {
    case dtype::f64:
      return std::numeric_limits<double>::min();
    case dtype::f32:
      return static_cast<double>(std::numeric_limits<float>::min());
    case dtype::f16:
      return std::ldexp(1.0, f16_format.smallest_exponent);
    case dtype::bf16:
      return std::ldexp(1.0, bf16_format.smallest_exponent);
    case dtype::f8e4m3:
      return std::ldexp(1.0, f8e4m3_format.smallest_exponent);
    case dtype::f8e5m2:
      return std::ldexp(1.0, f8e5m2_format.smallest_exponent);
    default:
      return 1;
  }
}

double load_as_double(const void* array, std::size_t index, dtype type) {
  double value = 0;
  visit(type, [&](auto element) { value = element.as_double(array, index); });
  return value;
}

std::int64_t load_as_int64(const void* array, std::size_t index, dtype type) {
  std::int64_t value = 0;
  visit(type, [&](auto element) { value = element.as_int64(array, index); });
  return value;
}

void store_from_double(void* array, std::size_t index, dtype type, double value) {
  visit(type, [&](auto element) { element.from_double(array, index, value); });
}

void store_from_int64(void* array, std::size_t index, dtype type, std::int64_t value) {
  visit(type, [&](auto element) { element.from_int64(array, index, value); });
}

void load_as_double(const void* array, std::size_t first, dtype type, std::span<double> values) {
  visit(type, [&](auto element) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element.as_double(array, first + i);
  });
}

void load_as_int64(const void* array, std::size_t first, dtype type, std::span<std::int64_t> values) {
  visit(type, [&](auto element) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = element.as_int64(array, first + i);
  });
}

void store_from_double(void* array, std::size_t first, dtype type, std::span<const double> values) {
  visit(type, [&](auto element) {
    for (std::size_t i = 0; i < values.size(); ++i) element.from_double(array, first + i, values[i]);
  });
}

void store_from_int64(void* array, std::size_t first, dtype type, std::span<const std::int64_t> values) {
  visit(type, [&](auto element) {
    for (std::size_t i = 0; i < values.size(); ++i) element.from_int64(array, first + i, values[i]);
  });
}

double round_through(double value, dtype type) {
  double element = 0;
  store_from_double(&element, 0, type, value);
  return load_as_double(&element, 0, type);
}

}  // namespace kernsmith
