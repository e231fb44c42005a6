// Which candidates of a session are profiled, and that doing so changes nothing else.
#include <doctest/doctest.h>

#include "agents/search/profile_schedule.hpp"

using namespace kernsmith;
using namespace kernsmith::agents;

TEST_CASE("only three words say what is profiled, and a near miss is named") {
  CHECK(profile_mode_named("off").value() == profile_mode::off);
  CHECK(profile_mode_named("winner").value() == profile_mode::winner);
  CHECK(profile_mode_named("best").value() == profile_mode::best);
  const auto unknown = profile_mode_named("winer");
  REQUIRE(!unknown.has_value());
  CHECK(unknown.error().kind == fault::bad_request);
  CHECK(unknown.error().message.find("did you mean 'winner'?") != std::string::npos);
}

TEST_CASE("a new best is profiled once it has lasted, and only in mode best") {
  const double long_enough_s = 10 * first_profile_s / profile_time_share;
  CHECK(profile_schedule(profile_mode::best, 0).improvement_due(profile_settle_evaluations, long_enough_s));
  CHECK(!profile_schedule(profile_mode::best, 0).improvement_due(profile_settle_evaluations - 1, long_enough_s));
  CHECK(!profile_schedule(profile_mode::winner, 0).improvement_due(profile_settle_evaluations, long_enough_s));
  CHECK(!profile_schedule(profile_mode::off, 0).improvement_due(profile_settle_evaluations, long_enough_s));
}

TEST_CASE("profiles stay within their share of the session's time") {
  profile_schedule schedule(profile_mode::best, 0);
  CHECK(!schedule.affords(0.99 * first_profile_s / profile_time_share));
  CHECK(schedule.affords(1.01 * first_profile_s / profile_time_share));
  schedule.spent(4);  // from here on the next is taken to cost what the longest did
  CHECK(!schedule.affords(0.99 * 8 / profile_time_share));
  CHECK(schedule.affords(1.01 * 8 / profile_time_share));
  schedule.spent(2);
  CHECK(!schedule.affords(0.99 * 10 / profile_time_share));
  CHECK(schedule.affords(1.01 * 10 / profile_time_share));
  // However the costs fall, what was given out as affordable keeps to the share when no profile takes longer than those before it.
  profile_schedule steady(profile_mode::best, 0);
  steady.spent(3);
  for (double elapsed_s = 60; elapsed_s < 3600; elapsed_s += 1) {
    if (steady.affords(elapsed_s)) steady.spent(3);
    CHECK(steady.spent_s() <= profile_time_share * elapsed_s);
  }
  CHECK(steady.spent_s() > 0.09 * 3600);
}

TEST_CASE("what an earlier run of the session spent counts") {
  const profile_schedule resumed(profile_mode::best, 100);
  CHECK(!resumed.affords(1000));
  CHECK(resumed.affords(1.01 * (100 + first_profile_s) / profile_time_share));
}

TEST_CASE("a profile replaces the roofline's words and keeps what the search went by") {
  const memory::diagnosis roofline{"memory", 0.42, {{"bytes", 100}, {"gb_per_s", 5}}};
  memory::diagnosis profiled{"vectorisation", 0.17, {{"gb_per_s", 6}, {"vector_share", 0.1}}, "clear"};
  profiled.knowledge = {"cpu-vectorisation"};
  const auto both = with_profile(roofline, profiled);
  CHECK(both.bottleneck == "vectorisation");
  CHECK(both.confidence == "clear");
  CHECK(both.knowledge == profiled.knowledge);
  CHECK(both.roofline_fraction == 0.42);
  CHECK(both.signals == std::map<std::string, double>{{"bytes", 100}, {"gb_per_s", 6}, {"vector_share", 0.1}});
  CHECK(profiled_or_tried(both, "0123"));
  CHECK(!profiled_or_tried(roofline, ""));
}

TEST_CASE("a profiler that failed leaves the roofline and says so, and is not tried again") {
  const auto d = with_failure({"memory", 0.42, {}}, error{fault::missing_here, "no tool"});
  CHECK(d.bottleneck == "memory");
  CHECK(d.confidence.empty());
  REQUIRE(d.missing.size() == 1);
  CHECK(d.missing[0].tool == memory::profiler_itself);
  CHECK(d.missing[0].reason == "no tool");
  CHECK(profiled_or_tried(d, ""));
}
