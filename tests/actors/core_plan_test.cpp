#include <doctest/doctest.h>

#include <atomic>
#include <set>
#include <thread>

#include "actors/core_plan.hpp"

using namespace kernsmith::actors;

namespace {

std::vector<int> cores(int n) {
  std::vector<int> ids;
  for (int i = 0; i < n; ++i) ids.push_back(i);
  return ids;
}

}  // namespace

TEST_CASE("on a small machine every core measures and builds wait") {
  const core_plan plan = plan_cores(cores(2), 1, 0);
  CHECK(plan.shared);
  REQUIRE(plan.slots.size() == 1);
  CHECK(plan.slots[0] == cores(2));
  CHECK(plan.builders == 2);
}

TEST_CASE("on a larger machine builds have cores of their own") {
  for (const int n : {4, 8, 16, 61}) {
    for (const std::size_t slots : {1U, 2U, 3U}) {
      CAPTURE(n);
      CAPTURE(slots);
      const core_plan plan = plan_cores(cores(n), slots, 0);
      CHECK(!plan.shared);
      REQUIRE(plan.slots.size() == slots);
      std::set<int> seen(plan.build.begin(), plan.build.end());
      CHECK(!plan.build.empty());
      for (const auto& slot : plan.slots) {
        CHECK(slot.size() == plan.slots[0].size());
        for (const int core : slot) CHECK(seen.insert(core).second);
      }
    }
  }
}

TEST_CASE("beside a device most cores build") {
  CHECK(plan_device_cores(cores(2), 1, 0).shared);
  const core_plan sixteen = plan_device_cores(cores(16), 1, 0);
  CHECK(sixteen.slots[0].size() == 8);
  CHECK(sixteen.builders == 8);
  CHECK(plan_device_cores(cores(61), 1, 0).builders == 53);
  const core_plan four = plan_device_cores(cores(4), 1, 0);
  CHECK(four.slots[0].size() == 2);
  CHECK(four.builders == 2);
  CHECK(plan_device_cores(cores(16), 1, 2).slots[0].size() == 2);
  for (const std::size_t slots : {1U, 2U, 3U, 7U}) {
    CAPTURE(slots);
    const core_plan plan = plan_device_cores(cores(8), slots, 0);
    REQUIRE(plan.slots.size() == slots);
    std::set<int> seen(plan.build.begin(), plan.build.end());
    CHECK(!plan.build.empty());
    for (const auto& slot : plan.slots)
      for (const int core : slot) CHECK(seen.insert(core).second);
  }
}

TEST_CASE("a slot never has more cores than asked for, and there is always one") {
  CHECK(plan_cores(cores(8), 1, 2).slots[0].size() == 2);
  CHECK(plan_cores(cores(1), 4, 0).slots.size() == 1);
  CHECK(plan_cores(cores(3), 9, 0).slots.size() == 3);
}

TEST_CASE("builds and measurements exclude each other, builds do not exclude builds") {
  core_gate gate(true);
  std::atomic<int> builds{0}, measurements{0}, most_builds{0};
  std::atomic<bool> overlapped{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const core_gate::hold hold(gate, t % 3 == 0);
        if (t % 3 == 0) {
          if (++measurements != 1 || builds != 0) overlapped = true;
          --measurements;
        } else {
          const int now = ++builds;
          most_builds = std::max(most_builds.load(), now);
          if (measurements != 0) overlapped = true;
          std::this_thread::yield();
          --builds;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(!overlapped);
  CHECK(most_builds >= 1);
}
