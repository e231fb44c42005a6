#include "backends/harness/comparison.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace kernsmith;
using namespace kernsmith::harness;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

compare_spec allclose(double atol, double rtol) {
  compare_spec s;
  s.mode = compare_mode::allclose;
  s.atol = atol;
  s.rtol = rtol;
  return s;
}

compare_spec mode(compare_mode m, double amount = 0) {
  compare_spec s;
  s.mode = m;
  s.ulp = s.norm = amount;
  return s;
}

comparison against_wide(const compare_spec& s, const std::vector<float>& got, const std::vector<double>& expected, double scale = 1,
                        int threads = 1) {
  return compare(s, dtype::f32, got.data(), expected.data(), expected_form::wide, static_cast<std::int64_t>(got.size()), scale, threads);
}

}  // namespace

TEST_CASE("allclose needs both tolerances together and reports in units of the budget") {
  const compare_spec s = allclose(0.1, 0.01);
  const comparison inside = against_wide(s, {1.05F, 10.1F}, {1.0, 10.0});
  CHECK(inside.match);
  CHECK(inside.max_error == doctest::Approx(0.5).epsilon(0.01));
  const comparison outside = against_wide(s, {1.0F, 10.5F, 0.0F, 7.0F}, {1.0, 10.0, 0.0, 10.0});
  CHECK_FALSE(outside.match);
  CHECK(outside.failures == 2);
  CHECK(outside.first_failure == 1);
  CHECK(outside.got == doctest::Approx(10.5));
  CHECK(outside.expected == doctest::Approx(10.0));
  CHECK(outside.max_error == doctest::Approx(15));
  CHECK(against_wide(s, {10.3F}, {10.0}, 2).match);
  CHECK_FALSE(against_wide(allclose(0, 0), {1.0F}, {std::nextafter(1.0, 2.0)}).match);
  CHECK(against_wide(allclose(0, 0), {1.0F, 0.0F}, {1.0, -0.0}).match);
}

TEST_CASE("NaN and infinities must stand in the same places, in every mode") {
  const auto inf = static_cast<float>(infinity);
  const auto nan = static_cast<float>(nan_value);
  for (compare_spec s :
       {allclose(1e30, 1e30), mode(compare_mode::ulp, 1e9), mode(compare_mode::normwise, 1e9), mode(compare_mode::bitwise)}) {
    CAPTURE(static_cast<int>(s.mode));
    CHECK(against_wide(s, {nan, inf, -inf, 1}, {nan_value, infinity, -infinity, 1}).match);
    CHECK_FALSE(against_wide(s, {1, 1}, {nan_value, 1}).match);
    CHECK_FALSE(against_wide(s, {nan, 1}, {1, 1}).match);
    CHECK_FALSE(against_wide(s, {inf, 1}, {1, 1}).match);
    CHECK_FALSE(against_wide(s, {1, 1}, {infinity, 1}).match);
    CHECK_FALSE(against_wide(s, {inf, 1}, {-infinity, 1}).match);
    CHECK(std::isfinite(against_wide(s, {nan, 1}, {1, 1}).max_error));
  }
}

/// The two ways of allclose, at a glance and closely, on arrays of several chunks with one odd element.
template <class T>
void check_one_odd(dtype type, const T& odd_got, const T& odd_expected, bool match, double worst) {
  for (const std::int64_t count : {512, 5000, 5003}) {
    for (const std::int64_t at : {std::int64_t{0}, std::int64_t{700} % count, count - 1}) {
      std::vector<T> expected(static_cast<std::size_t>(count)), got;
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<T>(1 + i % 7);
      got = expected;
      got[3] = expected[3] * static_cast<T>(1 + 0.004);  // an error of about a third of the budget, seen first
      got[static_cast<std::size_t>(at)] = odd_got;
      expected[static_cast<std::size_t>(at)] = odd_expected;
      const comparison c = compare(allclose(0.002, 0.01), type, got.data(), expected.data(), expected_form::native, count);
      CAPTURE(count);
      CAPTURE(at);
      CHECK(c.match == match);
      CHECK(c.failures == (match ? 0 : 1));
      CHECK(c.first_failure == (match ? -1 : at));
      CHECK(c.max_error == doctest::Approx(worst).epsilon(0.01));
    }
  }
}

TEST_CASE("one odd element among many is seen") {
  const auto check = [](auto zero, dtype type) {
    using T = decltype(zero);
    const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
    const double seen = 0.004 * 4 / (0.002 + 0.04);
    check_one_odd<T>(type, inf, inf, true, seen);
    check_one_odd<T>(type, nan, nan, true, seen);
    check_one_odd<T>(type, T{5}, inf, false, max_reported_error);
    check_one_odd<T>(type, -inf, inf, false, max_reported_error);
    check_one_odd<T>(type, inf, T{5}, false, max_reported_error);
    check_one_odd<T>(type, nan, T{5}, false, max_reported_error);
    check_one_odd<T>(type, T{5}, nan, false, max_reported_error);
    check_one_odd<T>(type, static_cast<T>(10.05), T{10}, true, 0.05 / 0.102);
    check_one_odd<T>(type, static_cast<T>(10.2), T{10}, false, 0.2 / 0.102);
  };
  check(0.0F, dtype::f32);
  check(0.0, dtype::f64);
}

TEST_CASE("a sample of a large output finds an odd element in a quarter of the tries, and names its place") {
  const std::int64_t count = sampled_above_bytes / 4 + 1001;
  std::vector<float> expected(static_cast<std::size_t>(count), 1.5F), got = expected;
  for (const compare_spec& s : {allclose(1e-6, 1e-6), mode(compare_mode::bitwise), mode(compare_mode::ulp, 1)}) {
    for (const std::int64_t at : {std::int64_t{0}, count / 2 + 7, count / 8, count - 1}) {
      got[static_cast<std::size_t>(at)] = 2.5F;
      int found = 0;
      for (std::uint64_t where = 0; where < 100; ++where) {
        const comparison c =
            compare_sample(s, dtype::f32, got.data(), expected.data(), expected_form::native, count, 1, 1, where * 0x9e3779b97f4a7c15ull);
        CHECK(c.match == (c.failures == 0));
        if (c.match) continue;
        ++found;
        CHECK(c.first_failure == at);
        CHECK(c.got == 2.5);
      }
      CHECK(found > 5);
      CHECK(found < 60);
      got[static_cast<std::size_t>(at)] = 1.5F;
    }
  }
  const std::int64_t small = sampled_above_bytes / 4;
  got[0] = 2.5F;
  CHECK_FALSE(compare_sample(allclose(1e-6, 1e-6), dtype::f32, got.data(), expected.data(), expected_form::native, small, 1, 1, 5)
                  .match);  // all of it
}

TEST_CASE("ulp counts from the rounded expected value") {
  const float one_up = std::nextafter(1.0F, 2.0F), two_up = std::nextafter(one_up, 2.0F);
  CHECK(against_wide(mode(compare_mode::ulp, 1), {one_up}, {1.0 + 1e-9}).match);
  CHECK_FALSE(against_wide(mode(compare_mode::ulp, 1), {two_up}, {1.0}).match);
  CHECK(against_wide(mode(compare_mode::ulp, 0), {0.1F}, {0.1}).match);
  CHECK_FALSE(against_wide(mode(compare_mode::bitwise), {std::nextafter(0.1F, 1.0F)}, {0.1}).match);
  CHECK(against_wide(mode(compare_mode::bitwise), {static_cast<float>(infinity)}, {1e300}).match);
}

TEST_CASE("normwise judges the whole output") {
  std::vector<float> got(1000, 1.0F);
  const std::vector<double> expected(1000, 1.0);
  got[17] = 1.1F;  // norm of the difference 0.1, of the expectation 31.6
  CHECK(against_wide(mode(compare_mode::normwise, 0.01), got, expected).match);
  const comparison c = against_wide(mode(compare_mode::normwise, 0.001), got, expected);
  CHECK_FALSE(c.match);
  CHECK(c.max_error == doctest::Approx(3.16).epsilon(0.01));
  CHECK_FALSE(against_wide(mode(compare_mode::normwise, 0.1), {0.1F}, {0.0}).match);
}

TEST_CASE("every float type: what it rounds to matches, its neighbour does not") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 3);
  for (dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::f8e4m3, dtype::f8e5m2}) {
    CAPTURE(name_of(type));
    const std::int64_t n = 5003;  // not a multiple of any vector
    std::vector<double> expected(static_cast<std::size_t>(n));
    for (double& e : expected) e = normal(random) * std::pow(2.0, static_cast<double>(random() % 30) - 22);
    expected[3] = 0;
    expected[4] = -0.0;
    expected[5] = largest_finite(type);
    std::vector<std::byte> got(static_cast<std::size_t>(n) * 8);
    for (std::size_t i = 0; i < expected.size(); ++i) store_from_double(got.data(), i, type, expected[i]);
    const comparison c = compare(mode(compare_mode::bitwise), type, got.data(), expected.data(), expected_form::wide, n);
    CHECK(c.match);
    CHECK(compare(mode(compare_mode::bitwise), type, got.data(), got.data(), expected_form::native, n).match);
    got[size_of(type) * 4999] ^= std::byte{1};
    const comparison off = compare(mode(compare_mode::bitwise), type, got.data(), expected.data(), expected_form::wide, n);
    CHECK_FALSE(off.match);
    CHECK(off.first_failure == 4999);
    CHECK(off.failures == 1);
  }
}

TEST_CASE("integers and bool wrap to the dtype and compare exactly unless told otherwise") {
  const std::vector<std::int8_t> got{44, -1, 7};
  const std::vector<std::int64_t> expected{300, 255, 7};
  CHECK(compare(mode(compare_mode::bitwise), dtype::i8, got.data(), expected.data(), expected_form::wide, 3).match);
  const std::vector<std::int64_t> off{300, 255, 8};
  const comparison c = compare(mode(compare_mode::bitwise), dtype::i8, got.data(), off.data(), expected_form::wide, 3);
  CHECK(c.first_failure == 2);
  CHECK(c.expected == 8);
  CHECK(compare(allclose(1, 0), dtype::i8, got.data(), off.data(), expected_form::wide, 3).match);
  CHECK_FALSE(compare(allclose(0.5, 0), dtype::i8, got.data(), off.data(), expected_form::wide, 3).match);
  const std::vector<std::uint8_t> flags{0, 1, 2};
  const std::vector<std::int64_t> truth{0, 1, 1};
  CHECK(compare(mode(compare_mode::bitwise), dtype::boolean, flags.data(), truth.data(), expected_form::wide, 2).match);
  CHECK_FALSE(compare(mode(compare_mode::bitwise), dtype::boolean, flags.data(), truth.data(), expected_form::wide, 3).match);
}

TEST_CASE("threads find the same first failure") {
  std::vector<float> got(1 << 20, 1.0F);
  const std::vector<double> expected(1 << 20, 1.0);
  got[300001] = got[900001] = 2.0F;
  const comparison one = against_wide(allclose(1e-6, 1e-6), got, expected, 1, 1),
                   four = against_wide(allclose(1e-6, 1e-6), got, expected, 1, 4);
  CHECK(one.first_failure == 300001);
  CHECK(four.first_failure == 300001);
  CHECK(four.failures == 2);
  CHECK(one.max_error == four.max_error);
}

TEST_CASE("poison is seen where it survives and nowhere else") {
  for (dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::f8e4m3, dtype::i32, dtype::u8, dtype::boolean}) {
    CAPTURE(name_of(type));
    for (poison pattern : {poison::not_a_number(), poison::finite(0x0123456789abcdefull)}) {
      std::vector<std::byte> data(1000);
      fill_poison(data.data(), data.size(), pattern);
      const std::int64_t last = 1000 / static_cast<std::int64_t>(size_of(type)) - 1;
      CHECK(is_poisoned(data.data(), 0, type, pattern));
      CHECK(is_poisoned(data.data(), last, type, pattern));
      store_from_double(data.data(), static_cast<std::size_t>(last), type, 1.0);
      CHECK_FALSE(is_poisoned(data.data(), last, type, pattern));
      CHECK(is_poisoned(data.data(), last - 1, type, pattern));
      if (pattern.word != poison::not_a_number().word && is_float(type)) CHECK(std::isfinite(load_as_double(data.data(), 0, type)));
    }
  }
  CHECK(std::isnan(load_as_double(std::vector<std::uint64_t>(1, poison::not_a_number().word).data(), 0, dtype::bf16)));
}

TEST_CASE("sampled poison touches every page and the tail") {
  std::vector<std::byte> data(5 * 4096 + 100);
  const poison pattern = poison::finite(77);
  fill_poison_sampled(data.data(), data.size(), pattern, 9);
  for (std::size_t page = 0; page < data.size(); page += 4096) {
    int touched = 0;
    for (std::size_t i = page; i < std::min(page + 4096, data.size()); ++i) touched += data[i] != std::byte{0} ? 1 : 0;
    CHECK(touched > 0);
    CHECK(touched <= 128);
  }
  CHECK(data.back() != std::byte{0});
}

TEST_CASE("bytes compare on threads as on one") {
  std::vector<char> a(4 << 20, 'x'), b = a;
  CHECK(same_bytes(a.data(), b.data(), a.size(), 3));
  b.back() = 'y';
  CHECK_FALSE(same_bytes(a.data(), b.data(), a.size(), 3));
  CHECK(same_bytes(a.data(), b.data(), 0));
}
