// Whole sessions through the actor tree in virtual time, with a fake machine.
#include <doctest/doctest.h>

#include <set>

#include "virtual_system.hpp"

using namespace kernsmith;
using namespace kernsmith::actors;
using namespace kernsmith::actors::testing;

namespace {

std::shared_ptr<memory::store> open_store(const std::filesystem::path& folder) {
  auto opened = memory::store::open(folder);
  REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : opened.error().message));
  return std::move(*opened);
}

session_result run_session(virtual_system& world, supervisor_config config, const session_request& request) {
  const auto root = spawn_supervisor(world.system, std::move(config));
  session_result answer = fail(fault::bug, "no answer");
  world.self->send(caf::actor_cast<caf::actor>(root), run_atom::value, request);
  for (int i = 0; i < 50; ++i) world.advance(std::chrono::milliseconds(500));
  world.self->receive([&](const session_result& r) { answer = r; }, caf::after(std::chrono::seconds(0)) >> [] {});
  world.self->send_exit(root, caf::exit_reason::user_shutdown);
  world.run();
  return answer;
}

std::vector<std::string> course(const session_report& report) {
  std::vector<std::string> lines;
  for (const auto& e : report.history)
    lines.push_back(e.id + " " + e.candidate + " " + e.outcome + " " + std::to_string(e.speedup) + " " + e.duplicate_of);
  return lines;
}

}  // namespace

TEST_CASE("a session finds the best point, within its budget, and stores everything") {
  temporary_folder folder;
  const auto machine = std::make_shared<fake_machine>();
  const auto store = open_store(folder.path / "data");
  virtual_system world;
  const auto report = run_session(world, supervisor_for(world, store, machine), request_for(tiny_problem(), 24));
  REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
  CHECK(report->session.state == "finished");
  CHECK(report->session.stopped_by == "budget");
  CHECK(report->best_source == "A=5 B=2");
  CHECK(report->session.best_speedup == doctest::Approx(4.0));
  CHECK(report->session.control.verdict == "no_difference");
  CHECK(machine->finals == 3);
  int measured = 0, duplicates = 0;
  for (const auto& e : report->history)
    if (e.effort != "final") e.duplicate_of.empty() ? ++measured : ++duplicates;
  CHECK(measured == 24);
  CHECK(machine->evaluations <= 24 + 3);
  CHECK(store->evaluations_of(report->session.id).size() == report->history.size());
  const auto champion = store->get_champion(report->task->hash, "cpp/test", "fake");
  REQUIRE(champion.has_value());
  CHECK(champion->candidate == report->best_candidate.id);
  std::uint64_t expected = 1;
  for (const auto& event : store->events(1, 1000)) CHECK(event.seq == expected++);
  CHECK(expected > 24);
}

TEST_CASE("equal machine code is one node: it is neither measured again nor counted against the budget") {
  temporary_folder folder;
  const auto machine = std::make_shared<fake_machine>();
  const auto store = open_store(folder.path / "data");
  virtual_system world;
  auto request = request_for(tiny_problem(), 1000);
  request.settings.policy = "random";
  const auto report = run_session(world, supervisor_for(world, store, machine), request);
  REQUIRE(report.has_value());
  CHECK(report->session.stopped_by == "exhausted");
  std::set<std::string> codes;
  int duplicates = 0;
  for (const auto& e : report->history) {
    if (e.effort == "final") continue;
    if (!e.duplicate_of.empty())
      ++duplicates;
    else if (!e.machine_code.empty())
      CHECK(codes.insert(e.machine_code).second);
  }
  CHECK(duplicates == 8);  // B = 0 and B = 1 compile to the same code for each of the eight A
}

TEST_CASE("a killed session resumes to the same end as an unbroken one") {
  const auto task = tiny_problem();
  std::vector<std::string> unbroken;
  int evaluations = 0;
  {
    temporary_folder folder;
    virtual_system world;
    const auto machine = std::make_shared<fake_machine>();
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request_for(task, 20));
    REQUIRE(report.has_value());
    unbroken = course(*report);
    evaluations = machine->evaluations;
  }
  REQUIRE(evaluations > 12);
  // The last three are final measurements.
  for (const int kill_at : {1, 4, evaluations / 2, evaluations - 4, evaluations - 2}) {
    CAPTURE(kill_at);
    temporary_folder folder;
    {
      // What kill -9 leaves is what is on disk at that instant: a copy of the open store.
      const auto machine = std::make_shared<fake_machine>();
      machine->before_evaluation = [&](int number) {
        if (number == kill_at)
          std::filesystem::copy(folder.path / "data", folder.path / "killed", std::filesystem::copy_options::recursive);
      };
      virtual_system world;
      REQUIRE(run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request_for(task, 20)).has_value());
    }
    auto request = request_for(task, 20);
    request.settings.id = "sess-another";
    request.resume = true;
    virtual_system world;
    const auto machine = std::make_shared<fake_machine>();
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "killed"), machine), request);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
    CHECK(report->replayed > 0);
    CHECK(report->session.id == request_for(task, 20).settings.id);
    CHECK(machine->evaluations < evaluations);
    const auto resumed = course(*report);
    CHECK(resumed.size() == unbroken.size());
    for (std::size_t i = 0; i < std::min(resumed.size(), unbroken.size()); ++i) CHECK(resumed[i] == unbroken[i]);
  }
}

TEST_CASE("a slot that dies is started again and its job given out again") {
  temporary_folder folder;
  const auto machine = std::make_shared<fake_machine>();
  machine->throw_on_evaluation = 3;
  virtual_system world;
  const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request_for(tiny_problem(), 8));
  REQUIRE(report.has_value());
  CHECK(report->session.state == "finished");
  for (const auto& e : report->history) CHECK(e.outcome != "infrastructure");
  CHECK(machine->opened == 1);  // what was admitted outlives the actor
}

TEST_CASE("a problem that can't be admitted is the user's to mend, and nothing is stored of it") {
  temporary_folder folder;
  const auto machine = std::make_shared<fake_machine>();
  machine->admit = false;
  const auto store = open_store(folder.path / "data");
  virtual_system world;
  const auto report = run_session(world, supervisor_for(world, store, machine), request_for(tiny_problem(), 8));
  REQUIRE(!report.has_value());
  CHECK(report.error().kind == fault::bad_request);
  CHECK(report.error().message.find("zeros pass") != std::string::npos);
  CHECK(store->sessions().empty());
}

TEST_CASE("the synthesizer is replaced when it dies; its move costs one candidate") {
  temporary_folder folder;
  virtual_system world;
  auto config = supervisor_for(world, open_store(folder.path / "data"), std::make_shared<fake_machine>());
  auto spawned = std::make_shared<int>(0);
  config.spawn_synthesizer = [spawned](caf::actor_system& system) {
    const bool poisoned = (*spawned)++ == 0;
    return system.spawn([poisoned](synthesizer_actor::pointer self) -> synthesizer_actor::behavior_type {
      guard(self, "synthesizer");
      auto count = std::make_shared<int>(0);
      return {[poisoned, count](generate_atom, const generators& all, const agents::move& what) -> proposal_result {
        if (poisoned && ++*count == 3) throw std::runtime_error("out of ideas");
        return all.at(what.generator)->generate(what.decisions);
      }};
    });
  };
  const auto report = run_session(world, std::move(config), request_for(tiny_problem(), 8));
  REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
  CHECK(*spawned == 2);
  CHECK(report->session.state == "finished");
}

TEST_CASE("a session starts from the champions of the same problem") {
  temporary_folder folder;
  const auto store = open_store(folder.path / "data");
  {
    virtual_system world;
    REQUIRE(
        run_session(world, supervisor_for(world, store, std::make_shared<fake_machine>()), request_for(tiny_problem(), 24)).has_value());
  }
  virtual_system world;
  const auto report =
      run_session(world, supervisor_for(world, store, std::make_shared<fake_machine>()), request_for(tiny_problem(), 4, 99));
  REQUIRE(report.has_value());
  REQUIRE(!report->session.warm_starts.empty());
  CHECK(report->best_source == "A=5 B=2");  // found within four evaluations only because it was remembered
}
