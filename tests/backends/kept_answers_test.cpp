#include "backends/cpp/kept_answers.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <random>

using namespace kernsmith::cpp;

namespace {

/// Times around 1 with the noise of a machine that others use: a tenth of the calls take up to three times as long.
double noisy(std::mt19937& engine) {
  std::uniform_real_distribution<double> unit(0, 1);
  const double jitter = 0.97 + 0.06 * unit(engine);
  return unit(engine) < 0.1 ? jitter * (1 + 2 * unit(engine)) : jitter;
}

}  // namespace

TEST_CASE("kernels that remember nothing are hardly ever suspected, whatever the noise") {
  std::mt19937 engine(7);
  int suspected = 0;
  for (int kernel = 0; kernel < 20000; ++kernel) {
    kept_answers kept;
    bool found = false;
    for (int pair = 0; pair < 30; ++pair) {
      kept.add(kept.next(engine()), noisy(engine));
      found = found || kept.saving().has_value();
    }
    suspected += found ? 1 : 0;
  }
  MESSAGE("suspected " << suspected << " of 20000");
  CHECK(suspected <= 10);
}

TEST_CASE("what slows both legs alike accuses nobody, what slows one leg is found") {
  std::mt19937 engine(11);
  kept_answers disturbed, remembering;
  for (int pair = 0; pair < 16; ++pair) {
    const renewal kind = disturbed.next(engine());
    const double burst = kind == renewal::whole ? 2.1 : 1.0;
    disturbed.add(kind, burst * (1 + 0.01 * pair), burst);
    const renewal other = remembering.next(engine());
    remembering.add(other, (other == renewal::whole ? 2.1 : 1.0) * (1 + 0.01 * pair), 1.0);
  }
  CHECK_FALSE(disturbed.saving().has_value());
  REQUIRE(remembering.saving().has_value());
  CHECK(*remembering.saving() > 1.8);
}

TEST_CASE("one that computes only what changed is found within a dozen calls") {
  std::mt19937 engine(7);
  int found = 0;
  for (int kernel = 0; kernel < 1000; ++kernel) {
    kept_answers kept;
    bool suspected = false;
    for (int pair = 0; pair < 12; ++pair) {
      const renewal kind = kept.next(engine());
      kept.add(kind, (kind == renewal::whole ? 2.0 : 1.0) * noisy(engine));
      suspected = suspected || kept.saving().has_value();
    }
    found += suspected ? 1 : 0;
  }
  CHECK(found >= 950);
}

TEST_CASE("neither kind of call gets far ahead, and too few say nothing") {
  std::mt19937 engine(1);
  kept_answers kept;
  int whole = 0, part = 0;
  for (int pair = 0; pair < 100; ++pair) {
    const renewal kind = kept.next(engine());
    REQUIRE(kind != renewal::part);
    (kind == renewal::whole ? whole : part) += 1;
    kept.add(kind, kind == renewal::whole ? 100 : 1);
    if (pair < 7) CHECK_FALSE(kept.saving());
    CHECK(std::abs(whole - part) <= 2);
  }
  CHECK(kept.saving().value_or(0) == doctest::Approx(100));
}
