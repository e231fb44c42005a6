#include "transport/diagnosis_text.hpp"

#include <doctest/doctest.h>

#include "sample_session.hpp"
#include "transport/result_documents.hpp"

using namespace kernsmith;
using namespace kernsmith::transport;
using namespace kernsmith::test;

namespace {

memory::diagnosis profiled() {
  memory::diagnosis d{"memory_bandwidth", 0.5, {{"memory_fraction", 0.91}}, "clear"};
  d.evidence = {
      {"l2_traffic_ratio", 3, "", "callgrind", "above 2", "more is moved than is needed", true},
      {"memory_fraction", 0.91, "fraction of peak copy rate", "roofline", "above 0.35", "moving the bytes takes the time", false}};
  d.also = {"latency"};
  d.tools = {"callgrind", "llvm-mca", "roofline"};
  d.missing = {{"perf", "no counters", ""}};
  d.knowledge = {"cpu-streaming"};
  return d;
}

}  // namespace

TEST_CASE("what limits a kernel in one line") {
  CHECK(limit_text(profiled()) == "memory bandwidth (clear): memory_fraction 91 % of peak copy rate, by roofline");
  CHECK(limit_text({"memory", 0.5, {}}) == "memory: 50 % of the roofline");
  CHECK(limit_text({"unknown", 0, {}}) == "unknown");
  CHECK(limit_text({}) == "");
  memory::diagnosis unclear = profiled();
  unclear.bottleneck = unclear.confidence = "unclear";
  CHECK(limit_text(unclear) == "nothing clearly; hints at latency");
  unclear.also.clear();
  CHECK(limit_text(unclear) == "nothing in particular");
}

TEST_CASE("evidence, means and failures are told in words") {
  const auto d = profiled();
  CHECK(evidence_text(d.evidence[0]) == "against it: more is moved than is needed: l2_traffic_ratio 3, by callgrind");
  CHECK(means_text(d) == "by callgrind, llvm-mca and roofline; without perf");
  CHECK(means_text({}) == "by the roofline alone");
  CHECK(profiler_failure(d) == "");
  memory::diagnosis failed;
  failed.missing = {{memory::profiler_itself, "it was lost", ""}};
  CHECK(profiler_failure(failed) == "it was lost");
}

TEST_CASE("the report says what limits the winner and the baseline, and what to try") {
  session_records r = finished_session();
  for (auto& e : r.evaluations) {
    if (e.candidate != r.session.best) continue;
    e.diagnosis = profiled();
    e.profile_blob = "00112233445566778899aabbccddeeff";
  }
  r.session.baselines.front().diagnosis = profiled();
  r.session.baselines.front().diagnosis.bottleneck = "vectorisation";
  r.session.baselines.front().profile_blob = "ff112233445566778899aabbccddeeff";
  r.session.profile = "best";
  r.advice = {"Write past the caches"};
  const std::string report = report_document(r);
  CHECK(report.find("**memory bandwidth (clear): memory_fraction 91 % of peak copy rate, by roofline**, at 50 % of the roofline.") !=
        std::string::npos);
  CHECK(report.find("- Write past the caches") != std::string::npos);
  CHECK(report.find("`naive` is limited by vectorisation") != std::string::npos);
  const auto document = result_document(r);
  CHECK(document["best"]["diagnosis"]["knowledge"] == nlohmann::json{"cpu-streaming"});
  CHECK(document["baseline"]["diagnosis"]["bottleneck"] == "vectorisation");
  CHECK(document["profiling"]["mode"] == "best");
  REQUIRE(document["profiling"]["profiles"].size() == 2);
  CHECK(document["profiling"]["profiles"][0]["candidate"].is_null());
  CHECK(document["profiling"]["profiles"][1]["candidate"] == r.session.best);
}

TEST_CASE("a profiler that failed is told in the report") {
  session_records r = finished_session();
  for (auto& e : r.evaluations)
    if (e.candidate == r.session.best) e.diagnosis.missing = {{memory::profiler_itself, "the kernel does not run by itself", ""}};
  CHECK(report_document(r).find("There is no profile: the kernel does not run by itself.") != std::string::npos);
  CHECK(result_document(r)["profiling"]["profiles"][0]["failure"] == "the kernel does not run by itself");
}
