// What the policies are worth: fractions of the best possible speed-up on synthetic landscapes of 331,776 points. All seeds are fixed.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "search_landscapes.hpp"

using namespace kernsmith::agents;
using namespace kernsmith::agents::testing;

namespace {

constexpr std::uint64_t seeds = 30;
constexpr std::int64_t evaluations = 64;

double median_fraction(const std::vector<landscape>& landscapes, const std::string& policy, double noise) {
  std::vector<double> fractions;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const run_result found =
        run(landscapes[seed - 1], {.policy = policy, .seed = seed, .budget = evaluations, .stop_at = 0, .stall = 0, .lookahead = 1}, noise);
    REQUIRE(found.evaluations <= evaluations);
    fractions.push_back(found.fraction);
  }
  std::sort(fractions.begin(), fractions.end());
  return fractions[fractions.size() / 2];
}

void compare(landscape::flavour kind, double noise, double at_least) {
  std::vector<landscape> landscapes;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    landscapes.emplace_back(kind, 1000 + seed);
  }
  const double control = median_fraction(landscapes, "random", noise);
  for (const std::string policy : {"mcts", "evolution"}) {
    const double reached = median_fraction(landscapes, policy, noise);
    MESSAGE(policy << " reaches " << reached << " of the optimum, random " << control);
    CHECK(reached > at_least);
    CHECK(reached > control + 0.1);
  }
}

}  // namespace

TEST_CASE("separable landscapes, 3 % noise") {
  compare(landscape::flavour::separable, 0.03, 0.97);
}
TEST_CASE("interacting decisions, 3 % noise") {
  compare(landscape::flavour::interacting, 0.03, 0.9);
}
TEST_CASE("regions where candidates fail, 3 % noise") {
  compare(landscape::flavour::failing, 0.03, 0.85);
}
TEST_CASE("many assignments with the same machine code, 3 % noise") {
  compare(landscape::flavour::collapsing, 0.03, 0.95);
}
TEST_CASE("interacting decisions, exact measurements") {
  compare(landscape::flavour::interacting, 0, 0.95);
}

TEST_CASE("every kind of move and memory mode takes part") {
  const landscape on(landscape::flavour::interacting, 12);
  for (const std::string policy : {"mcts", "evolution"}) {
    CAPTURE(policy);
    const run_result found = run(on, {.policy = policy, .seed = 1, .budget = 96, .stop_at = 0, .stall = 0, .lookahead = 2});
    std::set<move_kind> kinds;
    std::set<memory_mode> memories;
    for (const move& each : found.moves) {
      kinds.insert(each.kind);
      memories.insert(each.memory);
      CHECK(each.parents.size() == (each.kind == move_kind::draft ? 0 : each.kind == move_kind::crossover ? 2 : 1));
      CHECK_FALSE(each.rationale.empty());
    }
    CHECK(memories.size() == 4);
    CHECK(kinds.contains(move_kind::tune));
    CHECK(kinds.contains(move_kind::mutate));
    CHECK(kinds.contains(move_kind::draft));
    CHECK(kinds.contains(move_kind::crossover) == (policy == "evolution"));
  }
}

TEST_CASE("a second generator that is better is found and tuned") {
  const landscape slow(landscape::flavour::separable, 21);
  const landscape fast(landscape::flavour::separable, 22);
  const fake_generator rules(slow.space);
  const fake_generator seed(fast.space);
  const generator* sources[] = {&rules, &seed};
  for (const std::string policy : {"mcts", "evolution"}) {
    CAPTURE(policy);
    auto made = make_search({.policy = policy, .seed = 2, .budget = 80, .stop_at = 0, .stall = 0, .lookahead = 1}, sources, {});
    std::vector<move> moves;
    while (auto next = (*made)->next()) {
      move_outcome seen = next->generator == 0 ? slow.outcome(next->decisions) : fast.outcome(next->decisions);
      seen.speedup *= next->generator == 0 ? 1 : 2;
      seen.machine_code += fmt::format("{}", next->generator);
      (*made)->observe(next->id, seen);
      moves.push_back(*next);
    }
    const move& best = moves[static_cast<std::size_t>((*made)->best().value())];
    CHECK(best.generator == 1);
    CHECK(std::exp(fast.log_speedup(best.decisions) - fast.optimum()) > 0.95);
  }
}
