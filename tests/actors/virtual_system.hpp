// An actor system in virtual time: nothing runs until the test says so, and the clock moves only when the test moves it. Plus the fakes
// that a session needs: an evaluator whose results are a function of the source, a generator over two decisions, a store in a temporary
// folder.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "actors/caf.hpp"
//
#include <caf/scheduler/test_coordinator.hpp>

#include "actors/supervisor.hpp"
#include "config/problem.hpp"

namespace kernsmith::actors::testing {

struct test_config : caf::actor_system_config {
  test_config() { set("scheduler.policy", caf::atom("testing")); }
};

struct virtual_system {
  test_config config;
  caf::actor_system system{config};
  caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  caf::scoped_actor self{system};

  virtual_system() { scheduler.advance_time(std::chrono::seconds(1)); }  // off zero: a timeout at zero counts as none
  ~virtual_system() { scheduler.run(); }
  virtual_system(const virtual_system&) = delete;
  virtual_system& operator=(const virtual_system&) = delete;

  void run() { scheduler.run(); }
  /// Runs everything that becomes due within `span`.
  void advance(std::chrono::milliseconds span) {
    scheduler.run();
    scheduler.advance_time(span);
    scheduler.run();
  }
};

/// What the fake evaluator makes of a source "A=.. B=..": built for all but B == 3, wrong for A == 0, else as fast as the landscape says.
struct fake_machine {
  std::atomic<int> builds{0}, evaluations{0}, finals{0}, opened{0};
  int throw_on_evaluation = -1;  ///< the evaluation with this number throws: the slot dies
  int vanishes_at = -1;          ///< from the evaluation with this number on the device is gone
  std::function<void(int)> before_evaluation;
  std::vector<std::string> profiled;                                          ///< sources, in order
  std::function<result<memory::profile>(const std::string& source)> profile;  ///< what the profiler says; empty: fake_profile()
  double clock_s = 0;                                                         ///< what planners see
  double evaluation_takes_s = 0;                                              ///< moves that clock
  bool admit = true;
};

/// Signals that agents/diagnosis reads as memory bandwidth.
[[nodiscard]] memory::profile fake_profile();

[[nodiscard]] evaluator_factory fake_evaluators(std::shared_ptr<fake_machine> machine);

/// A generator with decisions A in 0..7 and B in 0..3; machine code depends on A and B / 2 only for B < 2.
[[nodiscard]] result<generators> fake_generators(const problem& p, const std::string& target, const admission& machine);

/// A temporary folder that goes away with its owner.
struct temporary_folder {
  std::filesystem::path path;
  temporary_folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernsmith-test-XXXXXX").string();
    path = mkdtemp(pattern.data());
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
};

[[nodiscard]] problem_ptr tiny_problem();
[[nodiscard]] session_request request_for(const problem_ptr& task, std::int64_t budget, std::uint64_t seed = 7);
/// Everything spawned undetached, clocks of the test's own.
[[nodiscard]] supervisor_config supervisor_for(virtual_system& world, std::shared_ptr<memory::store> store,
                                               std::shared_ptr<fake_machine> machine);

}  // namespace kernsmith::actors::testing
