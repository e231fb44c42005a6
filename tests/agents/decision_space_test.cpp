#include "agents/synthesis/decision_space.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "agents/synthesis/machine_model.hpp"

namespace kernsmith::agents {
namespace {

decision_space example() {
  decision_space space;
  space.name = "rules";
  space.decisions.push_back({"y.tile", {8, 16, 64}, {}, 1, 1.0, "rows at a time"});
  space.decisions.push_back({"y.sweeps", {0, 1, 2}, {"two", "three", "online"}, 2, 1.0, "passes over a row"});
  return space;
}

TEST_CASE("the preferred assignment names every decision") {
  CHECK(preferred_assignment(example()) == assignment{{"y.tile", 16}, {"y.sweeps", 2}});
}

TEST_CASE("a description is in the space's order and uses labels") {
  CHECK(describe(example(), {{"y.sweeps", 1}, {"y.tile", 64}}) == "y.tile=64 y.sweeps=three");
  CHECK(describe(example(), {{"y.tile", 8}}) == "y.tile=8");
}

TEST_CASE("fit drops, completes and moves to the nearest legal value") {
  CHECK(fit(example(), {}) == preferred_assignment(example()));
  CHECK(fit(example(), {{"y.tile", 50}, {"other", 1}}) == assignment{{"y.tile", 64}, {"y.sweeps", 2}});
  CHECK(fit(example(), {{"y.tile", 12}}).at("y.tile") == 8);  // a tie goes to the earlier value
  CHECK(fit(example(), {{"y.tile", std::numeric_limits<std::int64_t>::min()}}).at("y.tile") == 8);
  CHECK(fit(example(), {{"y.tile", std::numeric_limits<std::int64_t>::max()}}).at("y.tile") == 64);
}

TEST_CASE("labels have no distance: a foreign choice becomes the preferred one") {
  CHECK(fit(example(), {{"y.sweeps", -7}}).at("y.sweeps") == 2);
}

TEST_CASE("this host has sizes that a schedule can be made from") {
  const machine_model machine = describe_host(3);
  CHECK(machine.cores == 3);
  CHECK(describe_host(0).cores == 1);
  CHECK(machine.vector_bytes == (machine.isa == "x86-64-v4" ? 64 : 32));
  CHECK(machine.vector_registers == (machine.isa == "x86-64-v4" ? 32 : 16));
  CHECK(machine.l1_bytes >= 16 << 10);
  CHECK(machine.l2_bytes > machine.l1_bytes);
  CHECK(machine.l3_bytes >= machine.l2_bytes);
}

}  // namespace
}  // namespace kernsmith::agents
