#include <doctest/doctest.h>

#include <set>

#include "agents/search/stopping.hpp"
#include "search_landscapes.hpp"

using namespace kernsmith::agents;
using namespace kernsmith::agents::testing;

namespace {

const std::vector<std::string> policies{"mcts", "evolution", "random"};

search_settings with(const std::string& policy, std::int64_t budget) {
  return {.policy = policy, .seed = 3, .budget = budget, .stop_at = 0, .stall = 0, .lookahead = 1};
}

/// Runs to the end; every outcome comes from `judge`.
std::vector<move> play(search& going, const std::function<move_outcome(const move&)>& judge) {
  std::vector<move> moves;
  while (auto next = going.next()) {
    moves.push_back(*next);
    going.observe(next->id, judge(*next));
  }
  REQUIRE(going.finished());
  return moves;
}

move_outcome passed(double speedup) {
  return {.passed = true, .speedup = speedup, .roofline_fraction = 0, .machine_code = "", .measured = true};
}

}  // namespace

TEST_CASE("an unknown policy is refused with the nearest name") {
  const fake_generator source(decision_space{"s", {ordered("a", 4, 0)}});
  const generator* sources[] = {&source};
  const auto made = make_search(with("mtcs", 8), sources, {});
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == kernsmith::fault::bad_request);
  CHECK(made.error().message.find("did you mean 'mcts'") != std::string::npos);
  CHECK_FALSE(make_search(with("mcts", 8), {}, {}));
  auto deep = with("mcts", 8);
  deep.lookahead = -1;
  CHECK_FALSE(make_search(deep, sources, {}));
}

TEST_CASE("the opening: first guess, warm starts, the other generators as they stand, then drafts") {
  const fake_generator rules(decision_space{"rules", {ordered("y.a", 6, 2), ordered("y.b", 6, 3), named("y.c", 3)}});
  const fake_generator seed(decision_space{"seed", {ordered("TILE", 4, 1)}});
  const fake_generator bare(decision_space{"bare", {}});
  const generator* sources[] = {&rules, &seed, &bare};
  for (const std::string& policy : policies) {
    CAPTURE(policy);
    std::vector<warm_start> starts{{0, {{"y.a", 8}, {"y.b", 1}, {"y.c", 1}}, "cand-1"},
                                   {0, {{"y.a", 4}, {"y.b", 8}, {"y.c", 0}}, "cand-2"},  // the first guess: not given twice
                                   {9, {}, "cand-3"}};                                   // a generator that isn't here
    auto made = make_search(with(policy, 40), sources, starts);
    REQUIRE(made);
    const auto moves = play(**made, [](const move& m) { return passed(1 + 0.01 * static_cast<double>(m.id % 5)); });
    REQUIRE(moves.size() >= 4);
    CHECK(moves[0].decisions == assignment{{"y.a", 4}, {"y.b", 8}, {"y.c", 0}});
    CHECK(moves[0].kind == move_kind::draft);
    CHECK(moves[1].decisions == assignment{{"y.a", 8}, {"y.b", 1}, {"y.c", 1}});
    CHECK(moves[1].kind == move_kind::warm_start);
    CHECK(moves[2].generator == 1);
    CHECK(moves[2].decisions == assignment{{"TILE", 2}});
    CHECK(moves[3].generator == 2);
    CHECK(moves[3].decisions.empty());
    for (std::size_t i = 0; i < moves.size(); ++i) {
      CHECK(moves[i].id == static_cast<std::int64_t>(i));
      for (const std::int64_t parent : moves[i].parents) {
        CHECK(parent < moves[i].id);
        CHECK(moves[static_cast<std::size_t>(parent)].generator == moves[i].generator);
      }
    }
  }
}

TEST_CASE("nothing is given twice, and a used-up space ends the search") {
  decision_space described{"rules", {named("fuse", 2), ordered("rows", 4, 1), ordered("unroll", 4, 0)}};
  // Without fusion, unrolling means nothing: 4 + 16 different assignments.
  const fake_generator rules(described, [](assignment& chosen) {
    if (chosen["fuse"] == 0) {
      chosen["unroll"] = 1;
    }
  });
  const fake_generator bare(decision_space{"bare", {}});
  const generator* sources[] = {&rules, &bare};
  for (const std::string& policy : policies) {
    CAPTURE(policy);
    auto made = make_search(with(policy, 500), sources, {});
    REQUIRE(made);
    const auto moves =
        play(**made, [](const move& m) { return m.id % 3 == 1 ? move_outcome{} : passed(1 + 0.1 * static_cast<double>(m.id % 4)); });
    CHECK((*made)->stopped_by() == "exhausted");
    std::set<std::pair<std::size_t, assignment>> seen;
    for (const move& each : moves) {
      CHECK(seen.emplace(each.generator, each.decisions).second);
      CHECK(sources[each.generator]->normalise(each.decisions) == each.decisions);
    }
    CHECK(moves.size() == 21);
  }
}

TEST_CASE("budget: exact for every policy and lookahead, nothing for a budget of nothing") {
  const landscape on(landscape::flavour::failing, 4);
  for (const std::string& policy : policies) {
    for (const std::int64_t lookahead : {0, 1, 5}) {
      for (const std::int64_t budget : {0, 1, 2, 7, 33}) {
        CAPTURE(policy);
        CAPTURE(lookahead);
        CAPTURE(budget);
        search_settings settings = with(policy, budget);
        settings.lookahead = lookahead;
        const run_result found = run(on, settings);
        CHECK(found.evaluations == budget);
        CHECK(found.stopped_by == "budget");
      }
    }
  }
}

TEST_CASE("known machine code costs no budget, but the number of moves is bounded") {
  const landscape on(landscape::flavour::separable, 4);
  const fake_generator source(on.space);
  const generator* sources[] = {&source};
  for (const std::string& policy : policies) {
    CAPTURE(policy);
    auto made = make_search(with(policy, 10), sources, {});
    bool first = true;
    const auto moves = play(**made, [&](const move&) {
      move_outcome seen = passed(1.5);
      seen.machine_code = "always the same";
      seen.measured = first;
      first = false;
      return seen;
    });
    CHECK(moves.size() == static_cast<std::size_t>(max_moves(10)));
    CHECK((*made)->stopped_by() == "exhausted");
    CHECK((*made)->best() == 0);
  }
}

TEST_CASE("target, roofline and stall") {
  const landscape on(landscape::flavour::separable, 4);
  const fake_generator source(on.space);
  const generator* sources[] = {&source};
  for (const std::string& policy : policies) {
    CAPTURE(policy);
    search_settings settings = with(policy, 50);
    settings.stop_at = 2;
    auto made = make_search(settings, sources, {});
    auto moves = play(**made, [](const move& m) { return passed(m.id == 11 ? 2.0 : 1.5); });
    CHECK((*made)->stopped_by() == "target");
    CHECK((*made)->best() == 11);
    CHECK(moves.size() == 13);  // one was already under way

    made = make_search(with(policy, 50), sources, {});
    moves = play(**made, [](const move& m) {
      move_outcome seen = passed(1.5);
      seen.roofline_fraction = m.id == 5 ? 0.96 : 0.94;
      return seen;
    });
    CHECK((*made)->stopped_by() == "roofline");
    CHECK(moves.size() == 17);  // sixteen before it may stop, and one was already under way

    made = make_search(with(policy, 50), sources, {});
    moves = play(**made, [](const move& m) {
      move_outcome seen = passed(1.5);
      seen.roofline_fraction = m.id == 20 ? 0.96 : 0.94;
      return seen;
    });
    CHECK((*made)->stopped_by() == "roofline");
    CHECK(moves.size() == 22);

    settings = with(policy, 50);
    settings.stall = 6;
    made = make_search(settings, sources, {});
    moves = play(**made, [](const move& m) { return passed(m.id <= 4 ? 1 + 0.1 * static_cast<double>(m.id) : 1.2); });
    CHECK((*made)->stopped_by() == "stall");
    CHECK((*made)->best() == 4);
    CHECK(moves.size() == 12);

    made = make_search(settings, sources, {});
    moves = play(**made, [](const move&) { return move_outcome{}; });
    CHECK((*made)->stopped_by() == "stall");
    CHECK_FALSE((*made)->best());
  }
}

TEST_CASE("a failed candidate never counts as target or roofline") {
  const landscape on(landscape::flavour::separable, 4);
  const fake_generator source(on.space);
  const generator* sources[] = {&source};
  search_settings settings = with("mcts", 12);
  settings.stop_at = 2;
  auto made = make_search(settings, sources, {});
  play(**made, [](const move&) {
    return move_outcome{.passed = false, .speedup = 100, .roofline_fraction = 1, .machine_code = "", .measured = true};
  });
  CHECK((*made)->stopped_by() == "budget");
  CHECK_FALSE((*made)->best());
}
