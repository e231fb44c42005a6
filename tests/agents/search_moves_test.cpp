#include <doctest/doctest.h>

#include <map>
#include <set>

#include "agents/search/expander.hpp"
#include "agents/search/moves.hpp"
#include "search_landscapes.hpp"

using namespace kernsmith::agents;
using namespace kernsmith::agents::testing;

namespace {

decision_space two_groups() {
  decision_space space{
      "rules", {ordered("y.tile", 6, 2), named("y.pack", 3), ordered("z.rows", 6, 1), ordered("z.unroll", 6, 0), ordered("fixed", 1, 0)}};
  return space;
}

int changes(const point& a, const point& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += a[i] != b[i] ? 1 : 0;
  }
  return count;
}

move_outcome passed(double speedup) {
  return {.passed = true, .speedup = speedup, .roofline_fraction = 0, .machine_code = "", .measured = true};
}

/// Gives out `where` as a child of `parents` and applies the outcome.
std::int64_t add(history& past, point where, std::vector<std::int64_t> parents, const move_outcome& outcome) {
  const auto id = past.give_out({0, std::move(where), move_kind::mutate, memory_mode::parent, std::move(parents), ""});
  past.apply(id, outcome);
  return id;
}

}  // namespace

TEST_CASE("mutation changes one decision, by weight, mostly to a neighbour") {
  decision_space described = two_groups();
  described.decisions[3].weight = 0;
  described.decisions[0].weight = 4;
  const fake_generator source(described);
  const indexed_space space(source);
  random_source chance(1);
  const point from{2, 0, 3, 2, 0};
  std::map<std::size_t, int> picked;
  int steps = 0;
  for (int i = 0; i < 6000; ++i) {
    const point to = mutate(space, from, chance);
    REQUIRE(changes(from, to) == 1);
    for (std::size_t d = 0; d < to.size(); ++d) {
      if (to[d] != from[d]) {
        ++picked[d];
        REQUIRE(to[d] >= 0);
        REQUIRE(to[d] < space.values(d));
        steps += d == 0 && std::abs(to[d] - from[d]) == 1 ? 1 : 0;
      }
    }
  }
  CHECK(picked[3] == 0);
  CHECK(picked[4] == 0);
  CHECK(picked[0] == doctest::Approx(4000).epsilon(0.05));
  CHECK(picked[1] == doctest::Approx(1000).epsilon(0.15));
  // 0.7 steps, and of the jumps 2 in 5 land on a neighbour: 0.82.
  CHECK(steps == doctest::Approx(0.82 * picked[0]).epsilon(0.05));
}

TEST_CASE("mutation at the edge of a decision stays inside") {
  const fake_generator source(decision_space{"s", {ordered("a", 2, 0)}});
  const indexed_space space(source);
  random_source chance(3);
  for (int i = 0; i < 100; ++i) {
    CHECK(mutate(space, {0}, chance) == point{1});
    CHECK(mutate(space, {1}, chance) == point{0});
  }
}

TEST_CASE("single changes are all of them, near ones first") {
  const fake_generator source(two_groups());
  const indexed_space space(source);
  const point from{2, 0, 0, 5, 0};
  const auto all = single_changes(space, from);
  CHECK(all.size() == 5 + 2 + 5 + 5);
  CHECK(std::set<point>(all.begin(), all.end()).size() == all.size());
  int last = 0;
  for (const point& to : all) {
    REQUIRE(changes(from, to) == 1);
    int distance = to[1] != from[1] ? 1 : 0;
    for (const std::size_t d : {0U, 2U, 3U}) {
      distance = std::max(distance, std::abs(to[d] - from[d]));
    }
    CHECK(distance >= last);
    last = distance;
  }
}

TEST_CASE("crossover takes each value from one of the parents, often whole groups") {
  const fake_generator source(two_groups());
  const indexed_space space(source);
  CHECK(space.group(0) == space.group(1));
  CHECK(space.group(2) == space.group(3));
  CHECK(space.group(0) != space.group(2));
  random_source chance(5);
  const point a{0, 0, 0, 0, 0};
  const point b{1, 1, 1, 1, 0};
  std::set<point> seen;
  int whole = 0;
  for (int i = 0; i < 1000; ++i) {
    const point merged = crossover(space, a, b, chance);
    for (std::size_t d = 0; d < merged.size(); ++d) {
      REQUIRE((merged[d] == a[d] || merged[d] == b[d]));
    }
    whole += merged[0] == merged[1] && merged[2] == merged[3] ? 1 : 0;
    seen.insert(merged);
  }
  CHECK(seen.size() == 16);
  CHECK(whole > 550);  // by group in half of the cases, by chance in a quarter of the rest
  CHECK(whole < 700);
}

TEST_CASE("shaped drafts lean to the first guess, then to what did well") {
  const fake_generator source(two_groups());
  const indexed_space space(source);
  random_source chance(9);
  std::map<int, int> plain;
  std::map<int, int> learned;
  std::vector<std::vector<double>> effects{{0, 0, 0, 0, 0, 0.6}, {0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, {0}};
  for (int i = 0; i < 2000; ++i) {
    ++plain[shaped_draft(space, {}, chance)[0]];
    ++learned[shaped_draft(space, effects, chance)[0]];
  }
  CHECK(plain[2] > plain[5] * 2);
  CHECK(plain[5] > 0);
  CHECK(learned[5] > learned[2] * 2);
}

TEST_CASE("main effects are shrunk means of what was seen") {
  const fake_generator source(two_groups());
  history past({indexed_space(source)});
  CHECK(main_effects(past, 0).empty());
  add(past, {0, 0, 0, 0, 0}, {}, passed(1));
  add(past, {1, 0, 0, 0, 0}, {0}, passed(2));
  const auto effects = main_effects(past, 0);
  CHECK(effects[0][0] == doctest::Approx(-std::log(2.0) / 2 / 3));
  CHECK(effects[0][1] == doctest::Approx(std::log(2.0) / 2 / 3));
  CHECK(effects[0][2] == 0);
  CHECK(effects[1][0] == doctest::Approx(0));
}

TEST_CASE("siblings mode keeps what paid and avoids what did not") {
  const fake_generator source(two_groups());
  history past({indexed_space(source)});
  const point base{2, 0, 1, 0, 0};
  const auto parent = add(past, base, {}, passed(2));
  add(past, {3, 0, 1, 0, 0}, {parent}, passed(2.4));
  add(past, {2, 1, 1, 0, 0}, {parent}, passed(2.2));
  add(past, {2, 0, 2, 0, 0}, {parent}, passed(1.2));
  add(past, {2, 0, 1, 1, 0}, {parent}, {});
  random_source chance(11);
  expander makes(past, chance);
  for (int i = 0; i < 50; ++i) {
    const auto child = makes.change(parent, memory_mode::siblings);
    REQUIRE(child);
    CHECK(child->memory == memory_mode::siblings);
    CHECK(child->parents == std::vector<std::int64_t>{parent});
    // At least one of the changes that paid, further mutated or not; never the two that did not pay.
    CHECK((child->where[0] != base[0] || child->where[1] != base[1]));
    CHECK(child->where[2] != 2);
    CHECK(child->where[3] != 1);
  }
}

TEST_CASE("a node without children has no siblings to learn from") {
  const fake_generator source(two_groups());
  history past({indexed_space(source)});
  const auto alone = add(past, {2, 0, 1, 0, 0}, {}, passed(2));
  random_source chance(11);
  expander makes(past, chance);
  CHECK_FALSE(makes.change(alone, memory_mode::siblings));
  CHECK_FALSE(makes.change(alone, memory_mode::both));
  CHECK(makes.change(alone, memory_mode::parent));
}

TEST_CASE("both: goes further along the lineage and keeps what paid among the siblings") {
  const fake_generator source(two_groups());
  history past({indexed_space(source)});
  const auto root = add(past, {1, 0, 1, 0, 0}, {}, passed(1));
  const auto parent = add(past, {2, 0, 1, 0, 0}, {root}, passed(2));
  add(past, {2, 1, 1, 0, 0}, {parent}, passed(2.4));
  const auto lineage = lineage_lessons(past, parent);
  REQUIRE(lineage.size() == 1);
  CHECK(lineage[0].gain == doctest::Approx(std::log(2.0)));
  random_source chance(2);
  CHECK(go_further(past.space(0), past.at(parent).made.where, lineage, chance) == point{3, 0, 1, 0, 0});
  expander makes(past, chance);
  int both = 0;
  for (int i = 0; i < 50; ++i) {
    const auto child = makes.change(parent, memory_mode::both);
    REQUIRE(child);
    both += child->where[0] == 3 && child->where[1] == 1 ? 1 : 0;
  }
  CHECK(both > 25);
}

TEST_CASE("parent mode changes the parent, a clean slate has none") {
  const fake_generator source(two_groups());
  history past({indexed_space(source)});
  const point base{2, 0, 1, 0, 0};
  const auto parent = add(past, base, {}, passed(2));
  random_source chance(4);
  expander makes(past, chance);
  double total = 0;
  for (int i = 0; i < 200; ++i) {
    const auto child = makes.change(parent, memory_mode::parent);
    REQUIRE(child);
    total += changes(base, child->where);
  }
  CHECK(total / 200 < 2);
  const auto draft = makes.draft(0);
  REQUIRE(draft);
  CHECK(draft->parents.empty());
  CHECK(draft->memory == memory_mode::clean_slate);
}

TEST_CASE("values whose change broke a candidate lose trust, values that also passed keep it") {
  const fake_generator source(two_groups());
  history past({indexed_space(source)});
  const auto parent = add(past, {2, 0, 1, 0, 0}, {}, passed(2));
  add(past, {5, 0, 1, 0, 0}, {parent}, {});
  CHECK(past.trust(0, {5, 0, 1, 1, 0}) < 0.4);
  CHECK(past.trust(0, {4, 0, 1, 1, 0}) == 1);
  CHECK(past.trust(0, {2, 0, 1, 1, 0}) == 1);
  CHECK(past.value(1) == 0);
}

TEST_CASE("a speed-up that is no positive finite number is a failure") {
  const fake_generator source(two_groups());
  history past({indexed_space(source)});
  add(past, {0, 0, 0, 0, 0}, {}, passed(std::nan("")));
  add(past, {1, 0, 0, 0, 0}, {}, passed(INFINITY));
  add(past, {2, 0, 0, 0, 0}, {}, passed(-1));
  CHECK_FALSE(past.best());
}

TEST_CASE("the model predicts a separable landscape from a few dozen points") {
  const landscape on(landscape::flavour::separable, 5);
  const fake_generator source(on.space);
  const indexed_space space(source);
  surrogate model(space);
  CHECK_FALSE(model.ready());
  random_source chance(6);
  std::vector<point> seen;
  std::vector<double> targets;
  for (int i = 0; i < 60; ++i) {
    seen.push_back(uniform_draft(space, chance));
    targets.push_back(on.log_speedup(space.to_assignment(seen.back())));
  }
  model.fit(seen, targets);
  REQUIRE(model.ready());
  double error = 0;
  double spread = 0;
  double mean = 0;
  for (const double target : targets) {
    mean += target / 60;
  }
  for (int i = 0; i < 200; ++i) {
    const point where = uniform_draft(space, chance);
    const double truth = on.log_speedup(space.to_assignment(where));
    error += (model.predict(where).mean - truth) * (model.predict(where).mean - truth);
    spread += (truth - mean) * (truth - mean);
  }
  CHECK(error < 0.25 * spread);
  CHECK(model.predict(seen[0]).deviation < model.predict(uniform_draft(space, chance)).deviation);
}
