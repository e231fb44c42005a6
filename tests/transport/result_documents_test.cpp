#include "transport/result_documents.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include <doctest/doctest.h>

#include "memory/codec.hpp"
#include "sample_session.hpp"
#include "transport/result_stream.hpp"

using namespace kernsmith;
using namespace kernsmith::transport;
using namespace kernsmith::test;

namespace {

/// The text that `name` should be.
std::string golden(const std::string& name, const std::string& now) {
  const auto file = std::string(KERNSMITH_SOURCE_DIR) + "/tests/transport/golden/" + name;
  if (std::getenv("KERNSMITH_WRITE_GOLDEN") != nullptr) std::ofstream(file) << now;
  std::ifstream in(file);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("how much of a session's time was spent measuring") {
  auto records = finished_session();   // starts at 04:05, lasts a minute; evaluations finish from 04:10.5 on, one a second
  CHECK_FALSE(measuring_of(records));  // no costs
  records.evaluations[0].cost = {1, 0.5, 1};
  records.evaluations[2].cost = {3, 10, 5};
  records.evaluations[3].cost = {1, 7, 7};
  records.evaluations[3].duplicate_of = "eval-x";
  const auto time = measuring_of(records);
  REQUIRE(time);
  CHECK(time->span_s == doctest::Approx(60 - (12.5 - 5 - 15)));
  CHECK(time->evaluating_s == doctest::Approx(16.5));
  CHECK(time->kernels_s == doctest::Approx(10.5));
  CHECK(report_document(records).find("| measuring | 24 % of the 1 m 07 s since") != std::string::npos);
  records.session.profile_s = 6.7;
  CHECK(report_document(records).find("in kernels 16 %; profiling another 10 % |") != std::string::npos);
  records.session.wall_s = 5;  // its clock began anew after a break
  CHECK_FALSE(measuring_of(records));
}

TEST_CASE("result.json holds what the session found") {
  const auto d = result_document(finished_session());
  CHECK(d["schema"] == "kernsmith.result/1");
  CHECK(d["problem"] == nlohmann::json{{"name", "softmax"}, {"hash", "00112233445566778899aabbccddeeff"}});
  CHECK(d["evaluations"] == nlohmann::json{{"total", 5},
                                           {"passed", 3},
                                           {"by_outcome", {{"passed", 3}, {"build_failed", 1}, {"wrong_values", 1}}},
                                           {"duplicates", 0},
                                           {"final_measurements", 0}});
  CHECK(d["baseline"]["name"] == "naive");
  CHECK(d["baseline"]["workloads"][0] ==
        nlohmann::json{
            {"axes", {{"B", 4096}, {"N", 1024}}}, {"weight", 1.0}, {"median_ns", 2e6}, {"ci95_ns", {1.98e6, 2.02e6}}, {"samples", 60}});
  CHECK(d["other_baselines"][0]["name"] == "openblas");
  CHECK(d["control"]["verdict"] == "no_difference");
  CHECK(d["best"]["candidate"] == "cand-000000000003");
  CHECK(d["best"]["speedup"] == nlohmann::json{{"geomean", 2.5}, {"ci95", {2.45, 2.55}}});
  CHECK(d["best"]["source"] == "best.cpp");
  CHECK(d["best"]["parameters"]["unroll"] == 4);
  CHECK(d["best"]["lineage"] == nlohmann::json{"cand-000000000001", "cand-000000000000"});
  CHECK(d["best"]["diagnosis"]["signals"]["gb_per_s"] == 20.5);
  CHECK(d["best"]["workloads"].size() == 2);
  CHECK(d["stopped_by"] == "budget");
}

TEST_CASE("history follows the evaluations, and only what passed counts as best so far") {
  const auto h = result_document(finished_session())["history"];
  REQUIRE(h.size() == 5);
  std::vector<double> best;
  for (const auto& step : h) best.push_back(step["best_so_far"]);
  CHECK(best == std::vector<double>{1.5, 1.5, 1.5, 2.5, 2.5});
  CHECK(h[0]["wall_s"] == 5.5);
  CHECK(h[4]["wall_s"] == 9.5);
  CHECK(h[2]["outcome"] == "wrong_values");
  auto r = finished_session();
  r.evaluations[0].finished.clear();
  CHECK(result_document(r)["history"][0]["wall_s"].is_null());
  CHECK(report_document(r).find("| 1 | - | 1.50x |") != std::string::npos);
}

TEST_CASE("a session without a best says null, not a made-up number") {
  const auto d = result_document(bare_session());
  CHECK(d["best"].is_null());
  CHECK(d["baseline"].is_null());
  CHECK(d["control"]["ci95"].is_null());
  CHECK(d["evaluations"]["total"] == 0);
}

TEST_CASE("the best is the one whose evaluation passed, and the final measurement of it") {
  auto r = finished_session();
  r.evaluations[3].effort = "final";
  auto again = made_evaluation(5, "passed", 9);
  again.candidate = "cand-000000000003";
  r.evaluations.push_back(again);
  CHECK(best_of(r).evaluation->speedup == 2.5);
  r.evaluations.back().effort = "final";
  CHECK(best_of(r).evaluation->speedup == 9);
  r.evaluations.back().outcome = "wrong_values";
  CHECK(best_of(r).evaluation->speedup == 2.5);
  r.session.best = "cand-000000000001";  // never passed
  CHECK(best_of(r).candidate == nullptr);
}

TEST_CASE("duplicates and final measurements stand beside what the budget counts") {
  auto r = finished_session();
  auto duplicate = made_evaluation(5, "wrong_values", 0);
  duplicate.duplicate_of = "cand-000000000002";
  auto final_measurement = made_evaluation(3, "passed", 2.4);
  final_measurement.effort = "final";
  r.evaluations.push_back(duplicate);
  r.evaluations.push_back(final_measurement);
  const auto d = result_document(r);
  CHECK(d["evaluations"]["total"] == 5);
  CHECK(d["evaluations"]["by_outcome"]["wrong_values"] == 1);
  CHECK(d["evaluations"]["duplicates"] == 1);
  CHECK(d["evaluations"]["final_measurements"] == 1);
  CHECK(d["history"].size() == 7);
  CHECK(d["history"][5]["duplicate_of"] == "cand-000000000002");
  CHECK(d["history"][0]["duplicate_of"].is_null());
  CHECK(report_document(r).find("| wrong_values | 1 |") != std::string::npos);
}

TEST_CASE("lineages end, even where records name each other") {
  auto r = finished_session();
  r.candidates[0].parents = {"cand-000000000003", "cand-unknown"};
  CHECK(lineage_of(r.candidates[3], r.candidates) == std::vector<std::string>{"cand-000000000001", "cand-000000000000", "cand-unknown"});
}

// After a wanted change of the report: KERNSMITH_WRITE_GOLDEN=1 test_transport --test-case="the report of*", then read the difference.
TEST_CASE("the report of a finished session") {
  const auto text = report_document(finished_session());
  CHECK(text == golden("finished.md", text));
}

TEST_CASE("the report of a session that found nothing") {
  const auto text = report_document(bare_session());
  CHECK(text == golden("bare.md", text));
}

TEST_CASE("a control that did not come out even is said at the top of the report") {
  auto r = finished_session();
  r.session.control.verdict = "slower";
  const auto text = report_document(r);
  const auto warning = text.find("**The timings are unproven**");
  REQUIRE(warning != std::string::npos);
  CHECK(warning < text.find("## What was asked"));
  CHECK(report_document(finished_session()).find("unproven") == std::string::npos);
}

TEST_CASE("a best whose interval holds 1 is not called faster") {
  auto r = finished_session();
  CHECK(report_document(r).find("not shown to be faster") == std::string::npos);
  r.evaluations[3].ci95 = {0.99, 2.6};
  CHECK(report_document(r).find("not shown to be faster") != std::string::npos);
}

TEST_CASE("the command in the report says every stopping rule and quotes what a shell would split") {
  auto r = finished_session();
  r.session.time_limit_s = 600;
  r.session.stop_at = 2.5;
  r.session.stall = 20;
  r.problem_path = "my problems/it's.toml";
  CHECK(report_document(r).find("kernsmith optimize 'my problems/it'\\''s.toml' --target cpp/x86-64-v4 --policy mcts --seed 7 --budget 5 "
                                "--time 600s --stop-at 2.5 --stall 20\n") != std::string::npos);
}

TEST_CASE("role: write documents" * doctest::skip()) {
  const std::filesystem::path directory = std::getenv("KERNSMITH_TEST_DIRECTORY");
  const auto write = [&](const std::string& name, const nlohmann::json& document) {
    std::ofstream out(directory / name);
    out << memory::to_json_text(document);
    REQUIRE(out.good());
  };
  write("finished.result.json", result_document(finished_session()));
  write("bare.result.json", result_document(bare_session()));
  auto r = finished_session();
  r.evaluations.push_back(made_evaluation(3, "passed", 2.4));
  r.evaluations.back().id = "eval-000000000005";
  r.evaluations.back().effort = "final";
  r.evaluations.push_back(made_evaluation(6, "passed", 2.4));
  r.evaluations.back().duplicate_of = "cand-000000000000";
  write("measured_again.result.json", result_document(r));
  for (const auto& e : r.evaluations) write(e.id + ".evaluation.json", evaluation_document(e));
  auto infinite = made_evaluation(2, "wrong_values", 0);
  infinite.verification.max_error = std::numeric_limits<double>::infinity();
  write("infinite.evaluation.json", evaluation_document(infinite));
  const auto frames =
      frames_of({"stream-0123456789ab", 7, "candidate.evaluated", "2026-01-02T03:04:05.006Z", {{"candidate", "cand-000000000003"}}});
  write("one.event.json",
        {{"topic", frames.topic}, {"header", nlohmann::json::parse(frames.header)}, {"payload", nlohmann::json::parse(frames.payload)}});
  const auto explained = frames_of({"stream-0123456789ab",
                                    8,
                                    "candidate.profiled",
                                    "2026-01-02T03:04:06Z",
                                    {{"session", "sess-000000000000"},
                                     {"candidate", "cand-000000000003"},
                                     {"evaluation", "eval-000000000003"},
                                     {"profile", "00112233445566778899aabbccddeeff"},
                                     {"limited_by", "memory"},
                                     {"diagnosis", r.evaluations.front().diagnosis}}});
  write("profiled.event.json", {{"topic", explained.topic},
                                {"header", nlohmann::json::parse(explained.header)},
                                {"payload", nlohmann::json::parse(explained.payload)}});
}
