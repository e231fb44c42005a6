// Comparing on the device gives what comparing on the host gives: all modes, all dtypes, both forms of expectations. Needs a device.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "backends/cuda/toolchain.hpp"
#include "backends/cuda/trusted_kernels.hpp"
#include "backends/harness/comparison.hpp"

using namespace kernsmith;

namespace {

struct bench {
  std::shared_ptr<cuda::device> on;
  std::unique_ptr<cuda::trusted_kernels> trusted;
};

/// Nothing, with a visible word, where there is no device.
std::optional<bench> open_bench() {
  auto on = cuda::device::open();
  if (!on) {
    MESSAGE("skipped: " << on.error().message);
    return std::nullopt;
  }
  REQUIRE((*on)->make_current().has_value());
  auto nvcc = cuda::toolchain::discover(std::filesystem::path(KERNSMITH_BINARY_DIR) / "cuda-test-cache", (*on)->description().architecture);
  REQUIRE(nvcc.has_value());
  const auto cubin = nvcc->build_device_code(cuda::trusted_kernels_text(), 170);
  REQUIRE(cubin.has_value());
  REQUIRE(cubin->outcome == "");
  auto trusted = cuda::trusted_kernels::load(*on, cubin->library);
  REQUIRE(trusted.has_value());
  return bench{*on, std::move(*trusted)};
}

cuda::device_array uploaded(const bench& b, const std::vector<std::byte>& bytes) {
  auto made = cuda::device_array::create(b.on, bytes.size());
  REQUIRE(made.has_value());
  REQUIRE(b.on->api().copy_to_device(made->address(), bytes.data(), bytes.size()) == 0);
  return std::move(*made);
}

constexpr std::int64_t count = 5003;

/// Values of every kind, and answers that are near, far, equal, infinite, NaN.
void make_pair(dtype type, bool wide, std::mt19937_64& random, std::vector<std::byte>& got, std::vector<std::byte>& expected) {
  got.assign(count * size_of(type), std::byte{0});
  expected.assign(count * (wide ? 8 : size_of(type)), std::byte{0});
  std::normal_distribution<double> normal(0, 3);
  for (std::size_t i = 0; i < count; ++i) {
    double r = normal(random) * std::pow(10.0, static_cast<double>(random() % 7) - 3);
    const auto dice = random() % 100;
    if (dice == 0) r = std::numeric_limits<double>::infinity();
    if (dice == 1) r = std::numeric_limits<double>::quiet_NaN();
    if (dice == 2) r = 0;
    if (dice == 3) r = 1e-40;
    double y = r;
    if (random() % 3 == 0) y = r * (1 + normal(random) * std::pow(10.0, -static_cast<double>(random() % 8)));
    if (random() % 500 == 0) y = normal(random);
    if (is_float(type)) {
      store_from_double(got.data(), i, type, y);
      if (wide) {
        std::memcpy(expected.data() + i * 8, &r, 8);
      } else {
        store_from_double(expected.data(), i, type, r);
      }
      continue;
    }
    const auto whole = static_cast<std::int64_t>(std::isfinite(r) ? r * 50 : 7), answer = random() % 50 == 0 ? whole + 1 : whole;
    store_from_int64(got.data(), i, type, answer);
    if (wide) {
      std::memcpy(expected.data() + i * 8, &whole, 8);
    } else {
      store_from_int64(expected.data(), i, type, whole);
    }
  }
}

}  // namespace

TEST_CASE("comparing on the device and on the host agree") {
  const auto b = open_bench();
  if (!b) return;
  std::mt19937_64 random(20);
  int compared = 0;
  for (std::size_t t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    for (const bool wide : {true, false}) {
      std::vector<std::byte> got, expected;
      make_pair(type, wide, random, got, expected);
      const auto on_device = uploaded(*b, got), right = uploaded(*b, expected);
      for (const compare_mode mode : {compare_mode::bitwise, compare_mode::ulp, compare_mode::allclose, compare_mode::normwise}) {
        compare_spec spec;
        spec.mode = mode;
        spec.ulp = 2;
        spec.norm = 1e-3;
        spec.rtol = 1e-3;
        spec.atol = 1e-4;
        const auto form = wide ? harness::expected_form::wide : harness::expected_form::native;
        const harness::comparison host = harness::compare(spec, type, got.data(), expected.data(), form, count, 1.5);
        const auto device = b->trusted->compare({{spec, type, on_device.address(), right.address(), form, count, 1.5}});
        REQUIRE(device.has_value());
        const harness::comparison& own = device->front();
        CAPTURE(name_of(type));
        CAPTURE(wide);
        CAPTURE(static_cast<int>(mode));
        CHECK(own.match == host.match);
        CHECK(own.failures == host.failures);
        CHECK(own.first_failure == host.first_failure);
        CHECK(own.max_error == doctest::Approx(host.max_error).epsilon(1e-9));
        if (host.first_failure >= 0 && !std::isnan(host.got)) CHECK(own.got == host.got);
        ++compared;
      }
    }
  }
  CHECK(compared == static_cast<int>(dtype_count) * 2 * 4);
}

TEST_CASE("filling, hashing and comparing bytes") {
  const auto b = open_bench();
  if (!b) return;
  std::vector<std::byte> bytes(100'003);
  std::mt19937_64 random(3);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const auto one = uploaded(*b, bytes), two = uploaded(*b, bytes);
  bytes.back() ^= std::byte{1};
  const auto other = uploaded(*b, bytes);
  const auto same = b->trusted->same({{one.address(), two.address(), bytes.size()}, {one.address(), other.address(), bytes.size()}});
  REQUIRE(same.has_value());
  CHECK((*same)[0]);
  CHECK_FALSE((*same)[1]);
  const auto hash = [&](const cuda::device_array& a) { return b->trusted->fingerprint({{nullptr, a.address(), bytes.size()}}).value(); };
  CHECK(hash(one) == hash(two));
  CHECK(hash(one) != hash(other));
  REQUIRE(b->trusted->fill(one.address(), bytes.size(), harness::poison::finite(5).word).has_value());
  std::vector<std::byte> filled(bytes.size()), poisoned(bytes.size());
  REQUIRE(b->on->api().copy_to_host(filled.data(), one.address(), filled.size()) == 0);
  harness::fill_poison(poisoned.data(), poisoned.size(), harness::poison::finite(5));
  CHECK(filled == poisoned);
  CHECK(b->trusted->is_poisoned(one.address(), 100'002, dtype::u8, harness::poison::finite(5)).value());
}
