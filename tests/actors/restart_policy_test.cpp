#include <doctest/doctest.h>

#include "actors/restart_policy.hpp"

using namespace kernsmith::actors;
using namespace std::chrono_literals;

TEST_CASE("delays double within the window and are capped") {
  restart_policy policy({6, 60s, 100ms, 500ms});
  const actor_time start{};
  CHECK(policy.died(start) == actor_span(100ms));
  CHECK(policy.died(start + 1s) == actor_span(200ms));
  CHECK(policy.died(start + 2s) == actor_span(400ms));
  CHECK(policy.died(start + 3s) == actor_span(500ms));
}

TEST_CASE("too many deaths in the window mean giving up; deaths before the window are forgotten") {
  restart_policy policy({2, 10s, 100ms, 1s});
  const actor_time start{};
  CHECK(policy.died(start).has_value());
  CHECK(policy.died(start + 1s).has_value());
  CHECK(!policy.died(start + 2s).has_value());
  CHECK(policy.died(start + 30s) == actor_span(100ms));
}
