// Element types of tensors, and their conversion to and from the types arithmetic is done in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kernsmith {

/// Values are part of the C ABI (kernsmith_kernel.h) and of stored records: append only.
enum class dtype : std::uint8_t { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, boolean };

inline constexpr std::size_t dtype_count = 12;

/// Size of one element in bytes.
[[nodiscard]] constexpr std::size_t size_of(dtype type) {
  switch (type) {
    case dtype::f64:
    case dtype::i64:
      return 8;
    case dtype::f32:
    case dtype::i32:
      return 4;
    case dtype::f16:
    case dtype::bf16:
    case dtype::i16:
      return 2;
    case dtype::f8e4m3:
    case dtype::f8e5m2:
    case dtype::i8:
    case dtype::u8:
    case dtype::boolean:
      return 1;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_float(dtype type) {
  return type <= dtype::f8e5m2;
}
[[nodiscard]] constexpr bool is_integer(dtype type) {
  return type >= dtype::i64 && type <= dtype::u8;
}

/// The name used in problem files: "f32", "bf16", "bool", ...
[[nodiscard]] std::string_view name_of(dtype type);
[[nodiscard]] std::optional<dtype> dtype_from_name(std::string_view name);
/// All names, in enum order.
[[nodiscard]] std::span<const std::string_view> dtype_names();

/// Unit round-off of a float type: 2^-(p), p = bits of significand with the hidden one (f32: 2^-24). 0 for others.
[[nodiscard]] double unit_roundoff(dtype type);
/// Largest finite value of the type.
[[nodiscard]] double largest_finite(dtype type);
/// Smallest value of an integer type (0 for u8 and bool); -largest_finite for floats.
[[nodiscard]] double lowest_value(dtype type);

/// Reads element `index` of an array of `type` as double. Exact except for |i64| > 2^53.
[[nodiscard]] double load_as_double(const void* array, std::size_t index, dtype type);
/// Reads element `index` of an integer or bool array. For float arrays: truncated towards zero.
[[nodiscard]] std::int64_t load_as_int64(const void* array, std::size_t index, dtype type);
/// Writes `value`, rounded to nearest-even for floats (f8e4m3 saturates to NaN above 448+, as OCP "fn": no
/// infinity), truncated towards zero and saturated for integers (NaN becomes 0), `value != 0` for bool.
void store_from_double(void* array, std::size_t index, dtype type, double value);
/// Writes `value`: wraps for integers, rounds for floats, `value != 0` for bool.
void store_from_int64(void* array, std::size_t index, dtype type, std::int64_t value);

/// The same for values.size() elements from `first` on; an order of magnitude faster than one by one.
void store_from_double(void* array, std::size_t first, dtype type, std::span<const double> values);
void store_from_int64(void* array, std::size_t first, dtype type, std::span<const std::int64_t> values);
void load_as_double(const void* array, std::size_t first, dtype type, std::span<double> values);
void load_as_int64(const void* array, std::size_t first, dtype type, std::span<std::int64_t> values);

/// Smallest positive normal number of a float type; 1 for others.
[[nodiscard]] double smallest_normal(dtype type);

/// `value` rounded through `type` and back.
[[nodiscard]] double round_through(double value, dtype type);

}  // namespace kernsmith
