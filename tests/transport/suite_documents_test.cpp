#include "transport/suite_documents.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "memory/codec.hpp"
#include "sample_session.hpp"
#include "transport/result_documents.hpp"

using namespace kernsmith::transport;
using kernsmith::test::bare_session;
using kernsmith::test::finished_session;

namespace {

suite_entry correct(const std::string& file, double speedup, const std::string& verdict) {
  suite_entry e;
  e.file = file;
  e.category = file.substr(0, file.find('_'));
  e.target = "cpp";
  e.status = suite_status::correct;
  e.candidate = "cand-000000000001";
  e.baseline = "eager";
  e.speedup = speedup;
  e.ci95 = {speedup * 0.99, speedup * 1.01};
  e.verdict = verdict;
  e.evaluations = 6;
  e.stopped_by = "budget";
  e.wall_s = 12;
  e.folder = file.substr(0, file.rfind('.'));
  return e;
}

suite_entry not_correct(const std::string& file, suite_status status, const std::string& reason) {
  suite_entry e;
  e.file = file;
  e.category = file.substr(0, file.find('_'));
  e.target = "cpp";
  e.status = status;
  e.reason = reason;
  e.folder = file.substr(0, file.rfind('.'));
  return e;
}

// Two categories: in one a win by four and a loss by four, in the other a win by 1.25 beside a refusal and a failure.
suite_run sample_run() {
  suite_run run;
  run.folder = "problems";
  run.targets = {"cpp"};
  run.arguments = {"--budget", "6"};
  run.started = "2026-01-02T03:04:05.006Z";
  run.wall_s = 75;
  run.finished = true;
  run.entries = {correct("norm_a.py", 4, "faster"), correct("norm_b.py", 0.25, "slower"), correct("pool_a.py", 1.25, "faster"),
                 not_correct("pool_b.py", suite_status::refused, "pool_b.py:7: needs a GPU"),
                 not_correct("pool_c.py", suite_status::failed, "ended by signal 9")};
  run.entries[0].over = {{"torch.compile", 2}};
  run.entries[2].over = {{"torch.compile", 0.5}};
  return run;
}

}  // namespace

TEST_CASE("a suite counts what was refused or failed as not correct") {
  const auto s = summarise(sample_run());
  REQUIRE(s.size() == 3);
  CHECK(s[0].category.empty());
  CHECK(s[0].problems == 5);
  CHECK(s[0].correct == 3);
  CHECK(s[0].refused == 1);
  CHECK(s[0].fast == std::array<std::int64_t, 4>{2, 2, 1, 1});
  CHECK(s[0].geomean == doctest::Approx(std::cbrt(1.25)));
  CHECK(s[0].least == 0.25);
  CHECK(s[0].faster == 2);
  CHECK(s[0].slower == 1);
  CHECK(s[1].category == "norm");
  CHECK(s[1].geomean == doctest::Approx(1));
  CHECK(s[2].category == "pool");
  CHECK(s[2].problems == 3);
  CHECK(s[2].geomean == doctest::Approx(1.25));

  const auto d = suite_document(sample_run());
  const auto& all = d["summaries"][0];
  CHECK(all["fast"][0] == nlohmann::json{{"p", 1.0}, {"problems", 2}, {"share", 0.4}});
  CHECK(all["fast_of_accepted"][0]["share"] == 0.5);
  const auto& over = all["over"]["torch.compile"];
  CHECK(over["problems"] == 2);
  CHECK(over["geomean"].get<double>() == doctest::Approx(1));
  CHECK(over["fast"][0]["share"] == 0.5);
}

TEST_CASE("fast_p means faster than p, not as fast as p") {
  suite_run run;
  run.targets = {"cpp"};
  run.entries = {correct("a.py", 1.5, "faster"), correct("b.py", 1.0, "no_difference")};
  CHECK(summarise(run)[0].fast == std::array<std::int64_t, 4>{1, 1, 0, 0});
}

TEST_CASE("targets are counted apart, what was interrupted isn't counted") {
  suite_run run;
  run.targets = {"cpp", "opencl"};
  run.entries = {correct("a.py", 2, "faster"), correct("a.py", 3, "faster"), not_correct("b.py", suite_status::interrupted, "interrupted")};
  run.entries[1].target = "opencl";
  const auto s = summarise(run);
  REQUIRE(s.size() == 4);
  CHECK(s[0].target == "cpp");
  CHECK(s[0].problems == 1);
  CHECK(s[0].geomean == doctest::Approx(2));
  CHECK(s[2].target == "opencl");
  CHECK(s[2].geomean == doctest::Approx(3));
}

TEST_CASE("a suite in which nothing was correct has no means") {
  suite_run run;
  run.folder = "problems";
  run.targets = {"cpp"};
  run.entries = {not_correct("a.py", suite_status::refused, "no Model")};
  const auto all = suite_document(run)["summaries"][0];
  CHECK(all["geomean"].is_null());
  CHECK(all["least"].is_null());
  CHECK(all["fast"][0]["share"] == 0.0);
  CHECK(all["fast_of_accepted"][0]["share"].is_null());
}

TEST_CASE("an entry is read from a session's result") {
  auto document = result_document(finished_session());
  suite_entry entry;
  read_result(document, entry);
  CHECK(entry.status == suite_status::correct);
  CHECK(entry.target == document["target"]);
  CHECK(entry.candidate == document["best"]["candidate"]);
  CHECK(entry.speedup == document["best"]["speedup"]["geomean"]);
  CHECK(entry.baseline == "naive");
  CHECK(entry.evaluations == 5);
  CHECK(entry.verdict == "faster");

  // What the control makes of it: within what the baseline differs from itself nothing is shown.
  document["control"]["ci95"] = {0.5, 1.0 + 2 * entry.speedup};
  read_result(document, entry);
  CHECK(entry.verdict == "no_difference");
  document["control"]["ci95"] = {0.99, 1.01};
  document["best"]["speedup"]["ci95"] = {0.9, 0.95};
  read_result(document, entry);
  CHECK(entry.verdict == "slower");

  // Another baseline, twice as slow as the first on every workload, doubles the speed-up.
  auto other = document["baseline"];
  other["name"] = "other";
  for (auto& w : other["workloads"]) w["median_ns"] = 2 * w["median_ns"].get<double>();
  document["other_baselines"] = {other};
  read_result(document, entry);
  CHECK(entry.over.at("other") == doctest::Approx(2 * entry.speedup).epsilon(0.01));

  suite_entry bare;
  read_result(result_document(bare_session()), bare);
  CHECK(bare.status != suite_status::correct);
  CHECK_FALSE(bare.reason.empty());
  CHECK(bare.speedup == 0);
}

TEST_CASE("an entry comes back from its document as it was") {
  for (const suite_entry& entry : sample_run().entries) CHECK(entry_document(entry_of(entry_document(entry))) == entry_document(entry));
}

TEST_CASE("the report names wins, losses and what is not correct") {
  const std::string report = suite_report(sample_run());
  CHECK(report.find("3 of 5 problems correct; 1 refused, which count as not correct (of the 4 accepted: fast_1 0.50, fast_1.5 0.25)") !=
        std::string::npos);
  CHECK(report.find("| norm | 2 | 2 | 0.50 | 0.50 | 0.50 | 0.50 | 1.00x | 0.25x | 1 | 0 | 1 | 2.00x (1) |") != std::string::npos);
  CHECK(report.find("| all | 5 | 3 | 0.40 | 0.40 | 0.20 | 0.20 |") != std::string::npos);
  CHECK(report.find("### Slower\n") < report.find("[norm_b](norm_b/report.md) | 0.25x"));
  CHECK(report.find("| pool_b | refused | pool_b.py:7: needs a GPU |") != std::string::npos);
  const auto lines = suite_table(sample_run());
  const auto holds = [&](const std::string& line) { return std::find(lines.begin(), lines.end(), line) != lines.end(); };
  CHECK(holds("faster: norm_a 4.00x, pool_a 1.25x"));
  CHECK(holds("slower: norm_b 0.25x"));
  CHECK(holds("pool_c: failed: ended by signal 9"));
}

TEST_CASE("role: write documents" * doctest::skip()) {
  const std::filesystem::path directory = std::getenv("KERNSMITH_TEST_DIRECTORY");
  const auto write = [&](const std::string& name, const suite_run& run) {
    std::ofstream out(directory / name);
    out << kernsmith::memory::to_json_text(suite_document(run));
    REQUIRE(out.good());
  };
  write("whole.suite.json", sample_run());
  suite_run begun;
  begun.folder = "problems";
  begun.targets = {"cpp"};
  begun.started = "2026-01-02T03:04:05.006Z";
  write("begun.suite.json", begun);
}
