#include "backends/harness/workload_measurement.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace kernsmith::harness;

namespace {

/// One launch: the ratio of its two legs is `ratio` times what the luck of its processes makes of it.
void add_launch(measured_workload& m, int launch, double ratio, double luck, std::mt19937_64& engine) {
  std::normal_distribution<double> of_launch(0, luck), of_block(0, 0.004);
  const double here = ratio * std::exp(of_launch(engine));
  for (int block = 0; block < 6; ++block) {
    timing_block& made = m.blocks.emplace_back();
    made.launch = launch;
    for (int call = 0; call < 2; ++call) {
      made.candidate_ns.push_back(1000 * std::exp(of_block(engine)));
      made.baseline_ns.push_back(1000 * here * std::exp(of_block(engine)));
    }
  }
}

struct outcome {
  ratio_estimate estimate;
  int launches = 0;
};

outcome measure(double ratio, double luck, const launch_plan& plan, std::mt19937_64& engine) {
  measured_workload m;
  m.paired = true;
  outcome done;
  for (; wants_launch(m, done.launches, plan); ++done.launches) add_launch(m, done.launches, ratio, luck, engine);
  done.estimate = estimate_ratio(m.blocks, 1);
  return done;
}

}  // namespace

TEST_CASE("more launches are made only where the interval is wide, and never more than planned") {
  std::mt19937_64 engine(3);
  const launch_plan plan{8, 16};
  CHECK(measure(1, 0.0005, plan, engine).launches == 8);
  CHECK(measure(2, 0.0005, plan, engine).launches == 8);
  CHECK(measure(1, 0.3, plan, engine).launches == 16);
  CHECK(measure(1, 0.3, {6, 6}, engine).launches == 6);
  measured_workload unpaired;
  CHECK(wants_launch(unpaired, 0, plan));
  CHECK_FALSE(wants_launch(unpaired, 8, plan));
}

TEST_CASE("stopping by the width accuses no equal kernel more often, and finds more") {
  std::mt19937_64 engine(17);
  constexpr int trials = 2000;
  for (const double luck : {0.004, 0.01, 0.02, 0.03}) {
    CAPTURE(luck);
    int wrong = 0, found = 0, found_before = 0, reversed = 0;
    for (int trial = 0; trial < trials; ++trial) {
      const verdict same = measure(1, luck, {8, 16}, engine).estimate.decision;
      wrong += same == verdict::faster || same == verdict::slower ? 1 : 0;
      const verdict better = measure(1.03, luck, {8, 16}, engine).estimate.decision;
      found += better == verdict::faster ? 1 : 0;
      reversed += better == verdict::slower ? 1 : 0;
      found_before += measure(1.03, luck, {8, 8}, engine).estimate.decision == verdict::faster ? 1 : 0;
    }
    MESSAGE("luck of a launch " << luck << ": wrong " << wrong << ", found " << found << " (" << found_before << " by eight launches) of "
                                << trials);
    CHECK(wrong <= trials / 100);
    CHECK(reversed == 0);
    CHECK(found + trials / 100 >= found_before);
    if (luck <= 0.02) CHECK(found >= trials * 8 / 10);
  }
}
