// Whole sessions through the actor tree in virtual time, with a fake machine.
#include <doctest/doctest.h>

#include <algorithm>
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
  std::int64_t lookahead = 1;
  SUBCASE("one candidate ahead") {}
  SUBCASE("many ahead") {
    lookahead = 8;
  }
  const auto request_of = [&] {
    auto request = request_for(task, 20);
    request.settings.lookahead = lookahead;
    return request;
  };
  std::vector<std::string> unbroken;
  int evaluations = 0;
  {
    temporary_folder folder;
    virtual_system world;
    const auto machine = std::make_shared<fake_machine>();
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request_of());
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
      REQUIRE(run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request_of()).has_value());
    }
    auto request = request_of();
    request.settings.id = "sess-another";
    request.resume = true;
    virtual_system world;
    const auto machine = std::make_shared<fake_machine>();
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "killed"), machine), request);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
    CHECK(report->replayed > 0);
    CHECK(report->session.id == request_for(task, 20).settings.id);
    CHECK(machine->evaluations <= evaluations);  // ahead, some are under way that no record tells of
    const auto resumed = course(*report);
    CHECK(resumed.size() == unbroken.size());
    for (std::size_t i = 0; i < std::min(resumed.size(), unbroken.size()); ++i) CHECK(resumed[i] == unbroken[i]);
  }
}

TEST_CASE("a device that vanishes stops the session; what was found is kept, no candidate is blamed, and it goes on elsewhere") {
  const auto task = tiny_problem();
  std::int64_t lookahead = 1;
  SUBCASE("one candidate ahead") {}
  SUBCASE("many ahead") {
    lookahead = 8;
  }
  const auto request_of = [&] {
    auto request = request_for(task, 20);
    request.settings.lookahead = lookahead;
    return request;
  };
  std::vector<std::string> unbroken;
  int evaluations = 0;
  {
    temporary_folder folder;
    virtual_system world;
    const auto machine = std::make_shared<fake_machine>();
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request_of());
    REQUIRE(report.has_value());
    CHECK(report->halted.empty());
    unbroken = course(*report);
    evaluations = machine->evaluations;
  }
  for (const int vanishes_at : {0, 5, evaluations - 2}) {
    CAPTURE(vanishes_at);
    temporary_folder folder;
    {
      const auto machine = std::make_shared<fake_machine>();
      machine->vanishes_at = vanishes_at;
      virtual_system world;
      const auto store = open_store(folder.path / "data");
      const auto report = run_session(world, supervisor_for(world, store, machine), request_of());
      REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
      CHECK(report->halted == "fake is out of order");
      CHECK(report->session.state == "interrupted");
      for (const auto& e : report->history) CHECK(e.outcome != "infrastructure");
      CHECK(store->evaluations_of(report->session.id).size() == report->history.size());
    }
    auto request = request_of();
    request.settings.id = "sess-another";
    request.resume = true;
    virtual_system world;
    const auto machine = std::make_shared<fake_machine>();
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
    CHECK(report->halted.empty());
    CHECK(course(*report) == unbroken);
  }
}

TEST_CASE("candidates made ahead never take a session beyond its budget, nor change what it evaluates") {
  for (const std::int64_t budget : {1, 2, 5, 13, 16}) {
    CAPTURE(budget);
    temporary_folder folder;
    const auto machine = std::make_shared<fake_machine>();
    virtual_system world;
    auto request = request_for(tiny_problem(), budget);
    request.settings.policy = "random";
    request.settings.lookahead = 8;
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), request);
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
    CHECK(report->session.stopped_by == "budget");
    std::int64_t measured = 0, moves = 0;
    for (const auto& e : report->history) {
      if (e.effort == "final") continue;
      measured += e.duplicate_of.empty() ? 1 : 0;
      CHECK(report->candidates[static_cast<std::size_t>(moves++)].id == e.candidate);  // the first moves, none left out
    }
    CHECK(measured == budget);
    CHECK(moves == static_cast<std::int64_t>(report->candidates.size()));
    CHECK(machine->evaluations <= budget + 3);
    if (budget > 1) CHECK(machine->builds > moves + 3);  // some were built ahead and dropped
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

namespace {

session_request profiling_request(const std::string& mode, std::int64_t budget = 24) {
  auto request = request_for(tiny_problem(), budget);
  request.settings.profile = mode;
  return request;
}

std::size_t events_of(const memory::store& store, const std::string& topic) {
  const auto all = store.events(1, 1000);
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const memory::event& e) { return e.topic == topic; }));
}

}  // namespace

TEST_CASE("the winner is profiled; its diagnosis is stored, streamed and reported") {
  temporary_folder folder;
  const auto machine = std::make_shared<fake_machine>();
  const auto store = open_store(folder.path / "data");
  virtual_system world;
  const auto report = run_session(world, supervisor_for(world, store, machine), profiling_request("winner"));
  REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
  CHECK(machine->profiled == std::vector<std::string>{"A=5 B=2"});
  CHECK(report->best.diagnosis.bottleneck == "memory_bandwidth");
  CHECK(report->best.diagnosis.roofline_fraction == 0.25);
  CHECK(!report->best.diagnosis.evidence.empty());
  CHECK(!report->best.diagnosis.knowledge.empty());
  const auto stored = store->get_evaluation(report->best.id);
  REQUIRE(stored.has_value());
  CHECK(stored->diagnosis.bottleneck == "memory_bandwidth");
  const auto blob = store->get_blob(stored->profile_blob);
  REQUIRE(blob.has_value());
  const auto document = nlohmann::json::parse(*blob);
  CHECK(document["schema"] == "kernsmith.profile/1");
  CHECK(document["trigger"] == "winner");
  CHECK(document["candidate"] == report->best_candidate.id);
  CHECK(document["problem"] == report->task->hash);
  CHECK(events_of(*store, "candidate.profiled") == 1);
}

TEST_CASE("without profiles a session takes the same course") {
  std::vector<std::vector<std::string>> courses;
  for (const std::string mode : {"off", "winner", "best"}) {
    temporary_folder folder;
    const auto machine = std::make_shared<fake_machine>();
    machine->evaluation_takes_s = 100;
    const auto store = open_store(folder.path / "data");
    virtual_system world;
    const auto report = run_session(world, supervisor_for(world, store, machine), profiling_request(mode));
    REQUIRE(report.has_value());
    courses.push_back(course(*report));
    CHECK(machine->profiled.empty() == (mode == "off"));
    CHECK((events_of(*store, "candidate.profiled") == 0) == (mode == "off"));
  }
  CHECK(courses[0] == courses[1]);
  CHECK(courses[0] == courses[2]);
}

TEST_CASE("where there is time, each best that lasts and the baseline are profiled, each once") {
  temporary_folder folder;
  const auto machine = std::make_shared<fake_machine>();
  machine->evaluation_takes_s = 100;
  const auto store = open_store(folder.path / "data");
  virtual_system world;
  const auto report = run_session(world, supervisor_for(world, store, machine), profiling_request("best"));
  REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
  const std::set<std::string> once(machine->profiled.begin(), machine->profiled.end());
  CHECK(once.size() == machine->profiled.size());
  CHECK(once.count("A=5 B=2") == 1);
  CHECK(once.count("A=1 B=0") == 1);  // the baseline
  REQUIRE(!report->session.baselines.empty());
  CHECK(report->session.baselines.front().diagnosis.bottleneck == "memory_bandwidth");
  CHECK(store->get_session(report->session.id)->baselines.front().profile_blob == report->session.baselines.front().profile_blob);
  CHECK(report->best.diagnosis.bottleneck == "memory_bandwidth");
  CHECK(!report->best.profile_blob.empty());
}

TEST_CASE("in a short session no candidate but the winner is profiled") {
  temporary_folder folder;
  const auto machine = std::make_shared<fake_machine>();
  machine->evaluation_takes_s = 0.5;
  virtual_system world;
  const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), profiling_request("best"));
  REQUIRE(report.has_value());
  REQUIRE(!machine->profiled.empty());
  CHECK(machine->profiled.front() == "A=5 B=2");
  // Behind it the baseline may come: a fake profile costs nothing.
  for (std::size_t i = 1; i < machine->profiled.size(); ++i) CHECK(machine->profiled[i] == "A=1 B=0");
}

TEST_CASE("a profiler that fails, or dies, costs the diagnosis and nothing else") {
  for (const bool dies : {false, true}) {
    CAPTURE(dies);
    temporary_folder folder;
    const auto machine = std::make_shared<fake_machine>();
    machine->profile = [dies](const std::string&) -> result<memory::profile> {
      if (dies) throw std::runtime_error("the profiler is on fire");
      return fail(fault::missing_here, "there is no such tool");
    };
    const auto store = open_store(folder.path / "data");
    virtual_system world;
    const auto report = run_session(world, supervisor_for(world, store, machine), profiling_request("winner"));
    REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
    CHECK(report->session.state == "finished");
    CHECK(report->best_source == "A=5 B=2");
    CHECK(machine->profiled.size() == 1);
    CHECK(report->best.profile_blob.empty());
    CHECK(report->best.diagnosis.bottleneck == "memory");  // the roofline's word
    REQUIRE(report->best.diagnosis.missing.size() == 1);
    CHECK(report->best.diagnosis.missing[0].tool == memory::profiler_itself);
  }
}

TEST_CASE("a resumed session keeps the diagnoses that were stored, and makes none of them again") {
  temporary_folder folder;
  std::vector<std::string> before;
  std::vector<std::string> unbroken;
  {
    const auto machine = std::make_shared<fake_machine>();
    machine->evaluation_takes_s = 100;
    int since = -1;
    machine->before_evaluation = [&](int number) {
      if (since < 0 && !machine->profiled.empty()) since = number;
      if (since < 0 || number != since + 2) return;  // what the first profile said is stored by then
      std::filesystem::copy(folder.path / "data", folder.path / "killed", std::filesystem::copy_options::recursive);
      before = machine->profiled;
    };
    virtual_system world;
    const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "data"), machine), profiling_request("best"));
    REQUIRE(report.has_value());
    unbroken = course(*report);
  }
  REQUIRE(!before.empty());
  auto request = profiling_request("off");  // the stored session's own setting counts
  request.resume = true;
  const auto machine = std::make_shared<fake_machine>();
  machine->evaluation_takes_s = 100;
  virtual_system world;
  const auto report = run_session(world, supervisor_for(world, open_store(folder.path / "killed"), machine), request);
  REQUIRE_MESSAGE(report.has_value(), (report ? "" : report.error().message));
  CHECK(report->session.profile == "best");
  CHECK(course(*report) == unbroken);
  for (const std::string& source : machine->profiled) CHECK(std::find(before.begin(), before.end(), source) == before.end());
  CHECK(report->best.diagnosis.bottleneck == "memory_bandwidth");
  int explained = 0;
  for (const auto& e : report->history)
    if (!e.profile_blob.empty() && e.effort != "final") ++explained;
  CHECK(explained > 0);
}
