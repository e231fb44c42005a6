// The class that stands in for _Float16 where the compiler has none, against the type itself.
#include "backends/cpp/half_float.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/cpp/toolchain.hpp"

using namespace kernsmith;

namespace {

std::uint16_t bits_of(_Float16 x) {
  return std::bit_cast<std::uint16_t>(x);
}

ks_half_float half_of(std::uint16_t bits) {
  ks_half_float h;
  h.bits = bits;
  return h;
}

/// Equal bits, or NaN both.
template <class T>
bool rounds_alike(T x) {
  const std::uint16_t native = bits_of(static_cast<_Float16>(x)), own = ks_half_float(x).bits;
  const auto is_nan = [](std::uint16_t bits) { return (bits & 0x7fff) > 0x7c00; };
  return native == own || (is_nan(native) && is_nan(own));
}

}  // namespace

TEST_CASE("every half widens to the same float") {
  int wrong = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float own = half_of(bits), native = static_cast<float>(std::bit_cast<_Float16>(bits));
    if (std::bit_cast<std::uint32_t>(own) != std::bit_cast<std::uint32_t>(native) && !(std::isnan(own) && std::isnan(native))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("floats and doubles round alike: at every half, halfway to the next, and a hair to either side") {
  int wrong = 0;
  for (std::uint32_t code = 0; code < 0x7c00; ++code) {
    const double here = static_cast<double>(half_of(static_cast<std::uint16_t>(code)));
    const double next = code + 1 == 0x7c00 ? 65536.0 : static_cast<double>(half_of(static_cast<std::uint16_t>(code + 1)));
    const double middle = (here + next) / 2;
    for (const double x : {here, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9), std::nextafter(here, 1e9)}) {
      for (const double signed_x : {x, -x}) {
        if (!rounds_alike(signed_x) || !rounds_alike(static_cast<float>(signed_x))) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("what is beyond the range, or no number, rounds alike") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double x : {65519.0, 65520.0, 65536.0, 1e300, 1e-300, 5e-324, infinity, std::nan("")}) {
    CAPTURE(x);
    CHECK(rounds_alike(x));
    CHECK(rounds_alike(-x));
    CHECK(rounds_alike(static_cast<float>(x)));
  }
  CHECK(rounds_alike(std::numeric_limits<float>::denorm_min()));
  CHECK(ks_half_float(7).bits == bits_of(7));
  CHECK(ks_half_float(true).bits == bits_of(1));
}

TEST_CASE("it is given to compilers that need it") {
  CHECK(cpp::lacks_half("g++ 10.2.1 20210110"));
  CHECK(cpp::lacks_half("g++ 11.4.0"));
  CHECK_FALSE(cpp::lacks_half("g++ 12.2.0"));
  CHECK_FALSE(cpp::lacks_half("g++ 9999.1"));
  CHECK_FALSE(cpp::lacks_half("clang version 11.0.1-2"));
  CHECK_FALSE(cpp::lacks_half("Debian clang version 14.0.6"));
  CHECK_FALSE(cpp::lacks_half("nonsense"));
}
