// Real profiles of kernels that were built to be slow in one known way (recorded/README.md): the diagnosis has to say which.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "agents/diagnosis/diagnose.hpp"
#include "agents/knowledge/library.hpp"
#include "backends/cuda/profile_ncu.hpp"

using namespace kernsmith;

namespace {

const std::filesystem::path recorded = std::filesystem::path(KERNSMITH_SOURCE_DIR) / "tests/agents/recorded";

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file);
  REQUIRE_MESSAGE(in.good(), file.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// ncu's counters of a mode of kernels.cu.
memory::profile h200(const std::string& mode) {
  const auto kernels = cuda::parse_ncu_csv(read(recorded / "nvidia_h200" / (mode + ".csv")));
  REQUIRE_MESSAGE(kernels.has_value(), mode);
  memory::profile p;
  p.target = "cuda/sm_90a";
  p.signals = cuda::ncu_signals(*kernels);
  return p;
}

/// Microseconds of one call without a profiler.
double call_us(const std::string& mode) {
  std::istringstream lines(read(recorded / "nvidia_h200/timings.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string title, name, calls, count, wall;
    double us = 0;
    words >> title >> name >> calls >> count >> wall >> us;
    if (name == mode) return us;
  }
  FAIL("no timing of " << mode);
  return 0;
}

void check(const memory::profile& p, const std::string& expected) {
  const memory::diagnosis d = agents::diagnose(p);
  INFO("also: ", d.also.empty() ? "-" : d.also.front(), ", confidence ", d.confidence);
  CHECK(d.bottleneck == expected);
  CHECK(d.confidence != "unclear");
  CHECK_FALSE(d.evidence.empty());
  CHECK_FALSE(agents::knowledge_for(d, p.target).empty());
}

}  // namespace

TEST_CASE("H200: kernels are diagnosed as what they were built to be") {
  for (const auto& [mode, expected] : {std::pair{"copy", "memory_bandwidth"},
                                       {"fma", "compute"},
                                       {"chase", "latency"},
                                       {"lowocc", "occupancy"},
                                       {"bank", "bank_conflicts"},
                                       {"strided", "uncoalesced_access"},
                                       {"transpose", "uncoalesced_access"},
                                       {"spill", "spills"},
                                       {"barrier", "synchronisation"},
                                       {"tail", "load_imbalance"},
                                       {"l2", "cache_bandwidth"},
                                       {"atomic", "atomics"}}) {
    CAPTURE(mode);
    check(h200(mode), expected);
  }
}

TEST_CASE("H200: many short kernels are bound by their launches") {
  memory::profile p = h200("tiny");
  const auto all = cuda::parse_ncu_csv(read(recorded / "nvidia_h200/tiny_all_kernels.csv"));
  REQUIRE(all.has_value());
  REQUIRE(all->size() == 32);
  const auto times = cuda::ncu_signals(*all);
  p.signals["kernels"] = times.at("kernels");
  p.signals["kernels_ns"] = times.at("kernels_ns");
  const double call_ns = 1e3 * call_us("tiny");
  p.signals["call_ns"] = {call_ns, "ns", "inside clock"};
  p.signals["launch_gap_share"] = {1 - times.at("kernels_ns").value / call_ns, "fraction of a call", "ncu, inside clock"};
  CHECK(p.signals["launch_gap_share"].value == doctest::Approx(0.5).epsilon(0.1));
  check(p, "launch_overhead");
}

TEST_CASE("CPU: kernels are diagnosed as what they were built to be") {
  std::size_t examined = 0;
  for (const auto& [name, expected] : {std::pair{"copy", "memory_bandwidth"},
                                       {"tiny", "launch_overhead"},
                                       {"polynomial", "compute"},
                                       {"matmul", "compute"},
                                       {"chase", "latency"},
                                       {"columns", "uncoalesced_access"},
                                       {"serial", "load_imbalance"},
                                       {"branches", "branch_misprediction"},
                                       {"softmax", "vectorisation"},
                                       {"spills", "spills"}}) {
    CAPTURE(name);
    const auto file = recorded / "cpu_zen4" / (std::string(name) + ".json");
    const auto p = nlohmann::json::parse(read(file)).get<memory::profile>();
    CHECK(p.target.starts_with("cpp/"));
    check(p, expected);
    ++examined;
  }
  CHECK(examined == 10);
}
