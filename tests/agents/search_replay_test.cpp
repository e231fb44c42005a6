// A search is a function of its seed and the outcomes: timing, order of arrival and restarts don't show.
#include <doctest/doctest.h>

#include <algorithm>

#include "search_landscapes.hpp"

using namespace kernsmith::agents;
using namespace kernsmith::agents::testing;

namespace {

struct recorded {
  std::vector<move> moves;
  std::vector<std::string> digests;  ///< after each time that everything outstanding was observed
  std::string digest;
  std::string stopped_by;
};

bool same(const move& a, const move& b) {
  return a.id == b.id && a.generator == b.generator && a.decisions == b.decisions && a.kind == b.kind && a.memory == b.memory &&
         a.parents == b.parents && a.rationale == b.rationale;
}

/// Asks for as many moves as the search gives, then tells the outcome of a random one of those outstanding, and so on. `shuffle` 0: always
/// the oldest.
recorded drive(const landscape& on, const search_settings& settings, std::uint64_t shuffle) {
  const fake_generator source(on.space);
  const generator* sources[] = {&source};
  auto made = make_search(settings, sources, {});
  REQUIRE(made);
  search& going = **made;
  random_source chance(shuffle);
  std::vector<std::int64_t> waiting;
  recorded found;
  while (!going.finished()) {
    if (auto next = going.next()) {
      waiting.push_back(next->id);
      found.moves.push_back(std::move(*next));
      // Half of the time ask for the next move at once, else let an outcome arrive in between.
      if (shuffle == 0 || chance.chance(0.5)) {
        continue;
      }
    }
    if (waiting.empty()) {
      continue;
    }
    const std::size_t arrives = shuffle == 0 ? 0 : chance.below(waiting.size());
    const std::int64_t id = waiting[arrives];
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(arrives));
    move_outcome seen = on.outcome(found.moves[static_cast<std::size_t>(id)].decisions, 0.03);
    seen.measured = id % 7 != 3;  // some cost nothing, as twins do
    going.observe(id, seen);
  }
  found.digest = going.digest();
  found.stopped_by = going.stopped_by();
  return found;
}

}  // namespace

TEST_CASE("the order in which outcomes arrive changes nothing") {
  for (const std::string policy : {"mcts", "evolution", "random"}) {
    for (const std::int64_t lookahead : {0, 1, 3, 6}) {
      CAPTURE(policy);
      CAPTURE(lookahead);
      const landscape on(landscape::flavour::failing, 3);
      const search_settings settings{.policy = policy, .seed = 17, .budget = 40, .stop_at = 0, .stall = 0, .lookahead = lookahead};
      const recorded plain = drive(on, settings, 0);
      CHECK(plain.stopped_by == "budget");
      for (const std::uint64_t shuffle : {1U, 2U, 3U, 4U}) {
        const recorded other = drive(on, settings, shuffle);
        REQUIRE(other.moves.size() == plain.moves.size());
        CHECK(std::equal(plain.moves.begin(), plain.moves.end(), other.moves.begin(), same));
        CHECK(other.digest == plain.digest);
        CHECK(other.stopped_by == plain.stopped_by);
      }
    }
  }
}

TEST_CASE("recorded outcomes replay into the same state at every point, and on to the same end") {
  for (const std::string policy : {"mcts", "evolution", "random"}) {
    CAPTURE(policy);
    const landscape on(landscape::flavour::interacting, 8);
    const fake_generator source(on.space);
    const generator* sources[] = {&source};
    const search_settings settings{.policy = policy, .seed = 5, .budget = 30, .stop_at = 0, .stall = 0, .lookahead = 1};
    auto whole = make_search(settings, sources, {});
    REQUIRE(whole);
    std::vector<move> moves;
    std::vector<std::string> digests;
    while (auto next = (*whole)->next()) {
      (*whole)->observe(next->id, on.outcome(next->decisions));
      moves.push_back(*next);
      digests.push_back((*whole)->digest());
    }
    CHECK((*whole)->finished());
    for (const std::size_t killed_at : {std::size_t{1}, std::size_t{7}, std::size_t{20}}) {
      auto again = make_search(settings, sources, {});
      REQUIRE(again);
      for (std::size_t i = 0; i < moves.size(); ++i) {
        const auto next = (*again)->next();
        REQUIRE(next);
        REQUIRE(same(*next, moves[i]));
        (*again)->observe(next->id, on.outcome(moves[i].decisions));
        if (i + 1 == killed_at) {
          CHECK((*again)->digest() == digests[i]);
        }
      }
      CHECK((*again)->digest() == digests.back());
    }
  }
}

TEST_CASE("the digest tells seeds, policies and outcomes apart") {
  const landscape on(landscape::flavour::separable, 2);
  const fake_generator source(on.space);
  const generator* sources[] = {&source};
  const auto digest_after = [&](const std::string& policy, std::uint64_t seed, double speedup) {
    auto made = make_search({.policy = policy, .seed = seed, .budget = 30, .stop_at = 0, .stall = 0, .lookahead = 1}, sources, {});
    const auto first = (*made)->next();
    move_outcome seen;
    seen.passed = true;
    seen.speedup = speedup;
    (*made)->observe(first->id, seen);
    return (*made)->digest();
  };
  const std::string base = digest_after("mcts", 1, 1.5);
  CHECK(digest_after("mcts", 1, 1.5) == base);
  CHECK(digest_after("mcts", 2, 1.5) != base);
  CHECK(digest_after("evolution", 1, 1.5) != base);
  CHECK(digest_after("mcts", 1, 1.5000001) != base);
}

TEST_CASE("no more than the lookahead and one is ever outstanding") {
  const landscape on(landscape::flavour::separable, 2);
  const fake_generator source(on.space);
  const generator* sources[] = {&source};
  for (const std::int64_t lookahead : {0, 1, 4}) {
    auto made = make_search({.policy = "mcts", .seed = 1, .budget = 30, .stop_at = 0, .stall = 0, .lookahead = lookahead}, sources, {});
    std::int64_t given = 0;
    std::vector<move> waiting;
    while (auto next = (*made)->next()) {
      waiting.push_back(*next);
      ++given;
      REQUIRE(given < 100);
    }
    CHECK(given == lookahead + 1);
    CHECK_FALSE((*made)->finished());
    (*made)->observe(0, on.outcome(waiting[0].decisions));
    CHECK((*made)->next());
    CHECK_FALSE((*made)->next());
  }
}
