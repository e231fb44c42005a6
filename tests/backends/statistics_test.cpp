#include "backends/harness/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace kernsmith::harness;

namespace {

/// What a machine does to a timing: multiplicative noise, a drift over the session, now and then an interruption.
struct machine {
  std::mt19937_64 random;
  double noise = 0.02;
  double drift_per_block = 0;
  double interruption_rate = 0.05;

  double time(double true_ns, double block) {
    std::normal_distribution<double> normal(0, noise);
    std::uniform_real_distribution<double> uniform;
    double t = true_ns * std::exp(normal(random)) * (1 + drift_per_block * block);
    if (uniform(random) < interruption_rate) t *= 1 + uniform(random);
    return t;
  }
};

std::vector<timing_block> measure(machine& m, double candidate_ns, double baseline_ns, int blocks, int launches = 1,
                                  double launch_effect = 0) {
  std::vector<timing_block> result;
  std::normal_distribution<double> normal(0, launch_effect);
  for (int launch = 0; launch < launches; ++launch) {
    const double shift = launch_effect > 0 ? std::exp(normal(m.random)) : 1;
    for (int b = 0; b < blocks / launches; ++b) {
      const double at = static_cast<double>(launch * (blocks / launches) + b);
      timing_block block;
      block.launch = launch;
      block.candidate_ns.push_back(m.time(candidate_ns * shift, at));
      block.baseline_ns.push_back(m.time(baseline_ns, at + 0.25));
      block.baseline_ns.push_back(m.time(baseline_ns, at + 0.5));
      block.candidate_ns.push_back(m.time(candidate_ns * shift, at + 0.75));
      result.push_back(block);
    }
  }
  return result;
}

}  // namespace

TEST_CASE("percentiles interpolate between order statistics") {
  CHECK(percentile({4, 1, 3, 2}, 0) == doctest::Approx(1));
  CHECK(percentile({4, 1, 3, 2}, 1) == doctest::Approx(4));
  CHECK(median({4, 1, 3, 2}) == doctest::Approx(2.5));
  CHECK(median({5, 1, 9}) == doctest::Approx(5));
  CHECK(percentile({10, 20}, 0.9) == doctest::Approx(19));
  CHECK(median({}) == 0);
}

TEST_CASE("an A/A pair is hardly ever called faster or slower, whatever the number of blocks, the drift and the noise") {
  int wrong = 0, trials = 0, agreed = 0;
  for (int blocks : {3, 5, 8, 16, 40}) {
    for (double drift : {0.0, 0.01}) {
      for (int trial = 0; trial < 150; ++trial) {
        machine m{std::mt19937_64(static_cast<std::uint64_t>(trial * 1000 + blocks)), trial % 2 == 0 ? 0.01 : 0.05, drift};
        const ratio_estimate e = estimate_ratio(measure(m, 1000, 1000, blocks), static_cast<std::uint64_t>(trial));
        ++trials;
        wrong += e.decision == verdict::faster || e.decision == verdict::slower ? 1 : 0;
        agreed += e.decision == verdict::no_difference ? 1 : 0;
      }
    }
  }
  MESSAGE("A/A: ", wrong, " wrong of ", trials, ", ", agreed, " no_difference");
  CHECK(wrong <= trials / 100);
  CHECK(agreed > trials / 3);
}

TEST_CASE("a launch that is a little off by itself is not a difference") {
  int wrong = 0;
  const int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    machine m{std::mt19937_64(static_cast<std::uint64_t>(trial)), 0.01};
    const ratio_estimate e = estimate_ratio(measure(m, 1000, 1000, 30, 3, 0.005), static_cast<std::uint64_t>(trial));
    wrong += e.decision == verdict::faster || e.decision == verdict::slower ? 1 : 0;
  }
  CHECK(wrong <= trials / 50);
}

TEST_CASE("launches that differ by more than their blocks do are not a difference, and don't hide one") {
  int wrong = 0, found = 0, swapped = 0, covered = 0;
  const int trials = 1000;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(trial);
    machine m{std::mt19937_64(seed), 0.01};
    const ratio_estimate same = estimate_ratio(measure(m, 1000, 1000, 80, 8, 0.02), seed);
    wrong += same.decision == verdict::faster || same.decision == verdict::slower ? 1 : 0;
    covered += same.ci95.low <= 1 && 1 <= same.ci95.high ? 1 : 0;
    const verdict small = estimate_ratio(measure(m, 1000, 1030, 80, 8, 0.008), seed).decision;
    found += small == verdict::faster ? 1 : 0;
    swapped += small == verdict::slower ? 1 : 0;
  }
  CHECK(wrong <= trials / 100);
  CHECK(covered >= trials * 93 / 100);
  CHECK(found >= trials * 8 / 10);
  CHECK(swapped == 0);
}

TEST_CASE("real differences are found, in the right direction") {
  int twice = 0, ten = 0, three = 0, swapped = 0;
  const int trials = 100;
  for (int trial = 0; trial < trials; ++trial) {
    const auto seed = static_cast<std::uint64_t>(trial);
    machine m{std::mt19937_64(seed)};
    twice += estimate_ratio(measure(m, 2000, 1000, 8), seed).decision == verdict::slower ? 1 : 0;
    ten += estimate_ratio(measure(m, 1000, 1100, 24), seed).decision == verdict::faster ? 1 : 0;
    const verdict small = estimate_ratio(measure(m, 1000, 1030, 60), seed).decision;
    three += small == verdict::faster ? 1 : 0;
    swapped += small == verdict::slower ? 1 : 0;
  }
  CHECK(twice >= 99);
  CHECK(ten >= 95);
  CHECK(three >= 80);
  CHECK(swapped == 0);
}

TEST_CASE("the 95 % interval covers the truth about that often") {
  for (int blocks : {4, 8, 20}) {
    int covered = 0;
    const int trials = 400;
    for (int trial = 0; trial < trials; ++trial) {
      machine m{std::mt19937_64(static_cast<std::uint64_t>(7919 * trial + blocks)), 0.03, 0.005};
      const ratio_estimate e = estimate_ratio(measure(m, 1000, 1500, blocks), static_cast<std::uint64_t>(trial));
      covered += e.ci95.low <= 1.5 && 1.5 <= e.ci95.high ? 1 : 0;
    }
    CAPTURE(blocks);
    CHECK(covered >= trials * 92 / 100);
  }
}

TEST_CASE("too little is unresolved") {
  CHECK(estimate_ratio({}, 1).decision == verdict::unresolved);
  CHECK(estimate_ratio({}, 1).ratio == 0);
  const std::vector<timing_block> two(2, timing_block{0, {100}, {1000}});
  const ratio_estimate e = estimate_ratio(two, 1);
  CHECK(e.ratio == doctest::Approx(10));
  CHECK(e.decision == verdict::unresolved);
}

TEST_CASE("the same seed gives the same interval") {
  machine m{std::mt19937_64(3)};
  const std::vector<timing_block> blocks = measure(m, 1000, 1200, 10);
  CHECK(estimate_ratio(blocks, 5).ci95.low == estimate_ratio(blocks, 5).ci95.low);
  CHECK(estimate_ratio(blocks, 5).ci95.low != estimate_ratio(blocks, 6).ci95.low);
}

TEST_CASE("a slow baseline measured once still gives an honest, wide interval") {
  const ratio_estimate e = estimate_unpaired_ratio({1.0, 1.01, 0.99, 1.02}, {50.0}, 1);
  CHECK(e.ratio == doctest::Approx(50 / 1.005));
  CHECK(e.decision == verdict::faster);
  CHECK(e.ci95.low < 45);
  CHECK(estimate_unpaired_ratio({1.0, 1.01, 0.99, 1.02}, {1.05}, 1).decision == verdict::unresolved);
}

TEST_CASE("workloads combine by weight") {
  machine m{std::mt19937_64(11)};
  const ratio_estimate four = estimate_ratio(measure(m, 1000, 4000, 12), 1);
  const ratio_estimate one = estimate_ratio(measure(m, 1000, 1000, 12), 2);
  const ratio_estimate even = combine_ratios({{four, 1}, {one, 1}});
  CHECK(even.ratio == doctest::Approx(2).epsilon(0.05));
  CHECK(even.decision == verdict::faster);
  CHECK(even.ci95.low < even.ratio);
  CHECK(combine_ratios({{four, 3}, {one, 1}}).ratio == doctest::Approx(std::pow(4, 0.75)).epsilon(0.05));
  CHECK(combine_ratios({}).ratio == 0);
  CHECK(combine_ratios({{four, 1}, {ratio_estimate{}, 1}}).ratio == 0);
}

TEST_CASE("stopping rules say when, and what they are") {
  relative_width_parameters parameters;
  parameters.most_blocks = 10;
  const auto rule = stop_at_relative_width(parameters);
  CHECK_FALSE(rule->done({2, 0.1, 0.001}));
  CHECK(rule->done({3, 0.1, 0.001}));
  CHECK_FALSE(rule->done({5, 0.1, 0.5}));
  CHECK(rule->done({5, 1.5, 0.5}));
  CHECK(rule->done({10, 0.1, 0.5}));
  CHECK(rule->describe().find("most_blocks=10") != std::string::npos);
  CHECK(stop_after_blocks(4)->done({4, 0, 1}));
  CHECK_FALSE(stop_after_blocks(4)->done({3, 100, 0}));
}

TEST_CASE("entropy counts bins of relative size and stops a measurement once it is steady") {
  CHECK(sample_entropy({}) == 0);
  CHECK(sample_entropy({100, 100.1, 100.2}, 0.05) == doctest::Approx(0));
  CHECK(sample_entropy({100, 200, 400, 800}) == doctest::Approx(2));
  CHECK(sample_entropy({100, 100, 200, 200}) == doctest::Approx(1));
  entropy_parameters parameters;
  parameters.window = 4;
  parameters.least_blocks = 4;
  const auto rule = stop_at_steady_entropy(parameters);
  measuring_progress progress;
  for (const double bits : {0.0, 1.0, 1.5, 1.8}) progress.entropy_bits.push_back(bits);
  progress.blocks = 4;
  CHECK_FALSE(rule->done(progress));
  for (int i = 0; i < 4; ++i) progress.entropy_bits.push_back(2.0);
  progress.blocks = 8;
  CHECK(rule->done(progress));
  progress.blocks = 3;
  CHECK_FALSE(rule->done(progress));
  CHECK(rule->describe() == "entropy(slope_bits=0.01, window=4, least_blocks=4, most_blocks=100, most_s=1)");
}

TEST_CASE("a stopping rule can be chosen by name; the limits come along") {
  relative_width_parameters limits;
  limits.most_blocks = 7;
  using kind = stopping_choice::kind;
  CHECK(make_stopping_rule({kind::fixed_count, 12}, limits)->describe() == "fixed_count(blocks=12)");
  CHECK(make_stopping_rule({kind::relative_width, 0.5}, limits)->describe().starts_with("relative_width(relative_width=0.5,"));
  const auto entropy = make_stopping_rule({kind::entropy, 0.2}, limits);
  CHECK(entropy->describe().starts_with("entropy(slope_bits=0.2,"));
  measuring_progress progress;
  progress.blocks = 7;
  CHECK(entropy->done(progress));
}
