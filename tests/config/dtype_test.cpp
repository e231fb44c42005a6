#include "config/dtype.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using namespace kernsmith;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::uint32_t encoded(double value, dtype type) {
  std::uint32_t bits = 0;
  store_from_double(&bits, 0, type, value);
  return bits;
}

double decoded(std::uint32_t bits, dtype type) {
  return load_as_double(&bits, 0, type);
}

}  // namespace

TEST_CASE("every bit pattern of a narrow float survives the way to double and back") {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f8e4m3, dtype::f8e5m2}) {
    CAPTURE(name_of(type));
    const std::uint32_t patterns = size_of(type) == 2 ? 65536 : 256;
    std::uint32_t not_numbers = 0;
    for (std::uint32_t bits = 0; bits < patterns; ++bits) {
      const double value = decoded(bits, type);
      if (std::isnan(value)) {
        ++not_numbers;
        CHECK(std::isnan(decoded(encoded(value, type), type)));
      } else if (encoded(value, type) != bits) {
        FAIL("pattern " << bits << " became " << encoded(value, type));
      }
    }
    const std::uint32_t expected = type == dtype::f16 ? 2 * 1023 : type == dtype::bf16 ? 2 * 127 : type == dtype::f8e4m3 ? 2 : 2 * 3;
    CHECK(not_numbers == expected);
  }
}

TEST_CASE("narrow floats round to the nearest, to even on ties, between every two neighbours") {
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f8e4m3, dtype::f8e5m2}) {
    CAPTURE(name_of(type));
    const std::uint32_t last = encoded(largest_finite(type), type);
    for (std::uint32_t bits = 0; bits < last; ++bits) {
      const double low = decoded(bits, type);
      const double high = decoded(bits + 1, type);
      const double middle = low + (high - low) / 2;
      const std::uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
      const bool right = encoded(middle, type) == even && encoded(std::nextafter(middle, 0), type) == bits &&
                         encoded(std::nextafter(middle, infinity), type) == bits + 1 &&
                         decoded(encoded(-middle, type), type) == -decoded(even, type);
      if (!right) FAIL("between patterns " << bits << " and " << bits + 1);
    }
  }
}

TEST_CASE("known values of the narrow formats") {
  CHECK(encoded(1.0, dtype::f16) == 0x3C00);
  CHECK(encoded(-2.0, dtype::f16) == 0xC000);
  CHECK(encoded(0x1p-24, dtype::f16) == 0x0001);
  CHECK(encoded(1.0, dtype::bf16) == 0x3F80);
  CHECK(encoded(1.0, dtype::f8e4m3) == 0x38);
  CHECK(encoded(448, dtype::f8e4m3) == 0x7E);
  CHECK(encoded(1.0, dtype::f8e5m2) == 0x3C);
  CHECK(encoded(-0.0, dtype::f16) == 0x8000);
  CHECK(largest_finite(dtype::f16) == 65504);
  CHECK(largest_finite(dtype::bf16) == 0x1.FEp127);
  CHECK(largest_finite(dtype::f8e4m3) == 448);
  CHECK(largest_finite(dtype::f8e5m2) == 57344);
}

TEST_CASE("overflow") {
  CHECK(decoded(encoded(65519, dtype::f16), dtype::f16) == 65504);
  CHECK(decoded(encoded(65520, dtype::f16), dtype::f16) == infinity);
  CHECK(decoded(encoded(-1e9, dtype::f16), dtype::f16) == -infinity);
  CHECK(decoded(encoded(464, dtype::f8e4m3), dtype::f8e4m3) == 448);
  CHECK(std::isnan(decoded(encoded(465, dtype::f8e4m3), dtype::f8e4m3)));
  CHECK(std::isnan(decoded(encoded(infinity, dtype::f8e4m3), dtype::f8e4m3)));
  CHECK(decoded(encoded(1e300, dtype::bf16), dtype::bf16) == infinity);
  CHECK(decoded(encoded(infinity, dtype::f8e5m2), dtype::f8e5m2) == infinity);
}

TEST_CASE("narrow floats are rounded once, not through f32") {
  // 1 + 2^-8 + 2^-40 lies just above the tie between two bf16 values; through f32 it would be the tie and go to even.
  CHECK(round_through(1 + 0x1p-8 + 0x1p-40, dtype::bf16) == 1 + 0x1p-7);
  CHECK(round_through(1 + 0x1p-8, dtype::bf16) == 1);
}

TEST_CASE("integers truncate and saturate from doubles, wrap from integers") {
  CHECK(round_through(2.9, dtype::i32) == 2);
  CHECK(round_through(-2.9, dtype::i8) == -2);
  CHECK(round_through(1e9, dtype::i8) == 127);
  CHECK(round_through(-1e9, dtype::i8) == -128);
  CHECK(round_through(-5, dtype::u8) == 0);
  CHECK(round_through(300, dtype::u8) == 255);
  CHECK(round_through(std::nan(""), dtype::i64) == 0);
  CHECK(round_through(0.25, dtype::boolean) == 1);
  std::int64_t element = 0;
  store_from_double(&element, 0, dtype::i64, 1e30);
  CHECK(element == std::numeric_limits<std::int64_t>::max());
  store_from_int64(&element, 0, dtype::i8, 130);
  CHECK(load_as_int64(&element, 0, dtype::i8) == -126);
  store_from_int64(&element, 0, dtype::u8, -1);
  CHECK(load_as_int64(&element, 0, dtype::u8) == 255);
  store_from_int64(&element, 0, dtype::boolean, 256);
  CHECK(load_as_int64(&element, 0, dtype::boolean) == 1);
  store_from_int64(&element, 0, dtype::f32, (std::int64_t{1} << 53) + 1);
  CHECK(load_as_double(&element, 0, dtype::f32) == 0x1p53);
}

TEST_CASE("blocks convert like single elements") {
  std::vector<double> values;
  for (int i = -300; i < 300; ++i) values.push_back(i * 1.7);
  for (std::size_t t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    CAPTURE(name_of(type));
    std::vector<std::byte> block((values.size() + 1) * size_of(type));
    std::vector<std::byte> single(block.size());
    store_from_double(block.data(), 1, type, values);
    for (std::size_t i = 0; i < values.size(); ++i) store_from_double(single.data(), i + 1, type, values[i]);
    CHECK(block == single);
    std::vector<double> back(values.size());
    load_as_double(block.data(), 1, type, back);
    for (std::size_t i = 0; i < values.size(); ++i) CHECK((back[i] == load_as_double(single.data(), i + 1, type) || std::isnan(back[i])));
  }
}

TEST_CASE("names, sizes, round-off") {
  for (std::size_t t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    CHECK(dtype_from_name(name_of(type)) == type);
    if (is_float(type)) {
      CHECK(round_through(1 + 2 * unit_roundoff(type), type) == 1 + 2 * unit_roundoff(type));
      CHECK(round_through(1 + 0.5 * unit_roundoff(type), type) == 1);
      CHECK(round_through(smallest_normal(type), type) == smallest_normal(type));
    }
  }
  CHECK_FALSE(dtype_from_name("float32"));
  CHECK(name_of(dtype::boolean) == "bool");
}
