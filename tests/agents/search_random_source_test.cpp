#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "agents/search/bandit.hpp"
#include "agents/search/random_source.hpp"

using namespace kernsmith::agents;

TEST_CASE("the state is seeded by splitmix64, as published") {
  const random_source chance(1234567);
  CHECK(chance.state() ==
        std::array<std::uint64_t, 4>{6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL, 4593380528125082431ULL});
}

TEST_CASE("equal seeds give equal draws, others don't") {
  random_source a(7);
  random_source b(7);
  random_source c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto drawn = a.bits();
    CHECK(drawn == b.bits());
    differs |= drawn != c.bits();
  }
  CHECK(differs);
}

TEST_CASE("below, unit and weighted keep to their ranges and shares") {
  random_source chance(42);
  std::array<int, 5> counts{};
  double sum = 0;
  for (int i = 0; i < 20000; ++i) {
    ++counts[chance.below(5)];
    const double u = chance.unit();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
  }
  for (const int count : counts) {
    CHECK(count > 3700);
    CHECK(count < 4300);
  }
  CHECK(sum / 20000 == doctest::Approx(0.5).epsilon(0.02));
  const std::vector<double> weights{0, 3, -1, 1};
  std::array<int, 4> drawn{};
  for (int i = 0; i < 8000; ++i) {
    ++drawn[chance.weighted(weights)];
  }
  CHECK(drawn[0] == 0);
  CHECK(drawn[2] == 0);
  CHECK(drawn[1] > 2.6 * drawn[3]);
  CHECK(drawn[1] < 3.4 * drawn[3]);
  const std::vector<double> nothing{0, 0};
  CHECK(chance.weighted(nothing) < 2);
}

TEST_CASE("a bandit tries every arm, then mostly the one that pays, and notices when another begins to") {
  bandit arms(3);
  const std::vector<bool> all(3, true);
  std::array<int, 3> early{};
  for (int i = 0; i < 100; ++i) {
    const std::size_t arm = arms.choose(all);
    ++early[arm];
    arms.reward(arm, arm == 1 ? 0.8 : 0.1);
  }
  CHECK(early[0] > 0);
  CHECK(early[2] > 0);
  CHECK(early[1] > 60);
  std::array<int, 3> late{};
  for (int i = 0; i < 200; ++i) {
    const std::size_t arm = arms.choose(all);
    ++late[arm];
    arms.reward(arm, arm == 2 ? 0.8 : 0.1);
  }
  CHECK(late[2] > 120);
}

TEST_CASE("a bandit keeps to the allowed arms, and spreads while rewards are outstanding") {
  bandit arms(3);
  for (int i = 0; i < 10; ++i) {
    CHECK(arms.choose({false, true, false}) == 1);
  }
  bandit waiting(2);
  waiting.reward(waiting.choose({true, false}), 0.5);
  waiting.reward(waiting.choose({false, true}), 0.5);
  std::array<int, 2> chosen{};
  for (int i = 0; i < 10; ++i) {
    ++chosen[waiting.choose({true, true})];
  }
  CHECK(chosen[0] == 5);
}
