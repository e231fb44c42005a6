// Nsight Compute's CSV and messages. The recorded ones are from an H200 (tests/agents/recorded).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "backends/cuda/profile_ncu.hpp"

using namespace kernsmith;
using namespace kernsmith::cuda;

namespace {

std::string recorded(const std::string& name) {
  std::ifstream in(std::filesystem::path(KERNSMITH_SOURCE_DIR) / "tests/agents/recorded/nvidia_h200" / (name + ".csv"));
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a recorded table is read") {
  const auto kernels = parse_ncu_csv(recorded("fma"));
  REQUIRE(kernels.has_value());
  REQUIRE(kernels->size() == 1);
  const kernel_counters& k = kernels->front();
  CHECK(k.kernel.find("fma_kernel") == 0);
  CHECK(k.find("gpu__time_duration.sum") == doctest::Approx(618656));
  CHECK(k.find("launch__grid_size") == doctest::Approx(2112));
  CHECK_FALSE(k.find("no__such.counter"));
  const auto signals = ncu_signals(*kernels);
  CHECK(signals.at("busiest_pipe").value == doctest::Approx(0.9117));
  CHECK(signals.at("busiest_pipe").value == signals.at("pipe_fma").value);
  CHECK(signals.at("issue_active").value == doctest::Approx(1.0));
  CHECK(signals.at("kernels_ns").value == doctest::Approx(618656));
  CHECK(signals.at("spill_share").value == 0);
  for (const auto& [name, s] : signals) {
    CAPTURE(name);
    CHECK(s.tool == "ncu");
    CHECK_FALSE(s.unit.empty());
  }
}

TEST_CASE("shares of a warp's time add up to about all of it") {
  for (const char* name : {"copy", "chase", "bank", "barrier", "spill"}) {
    CAPTURE(name);
    const auto kernels = parse_ncu_csv(recorded(name));
    REQUIRE(kernels.has_value());
    double sum = 0;
    for (const auto& [signal, s] : ncu_signals(*kernels)) {
      if (signal.starts_with("stall_")) sum += s.value;
    }
    CHECK(sum > 0.85);
    CHECK(sum < 1.01);
  }
}

TEST_CASE("several kernels: times add up, rates are the longest one's") {
  const auto kernels = parse_ncu_csv(recorded("tiny_all_kernels"));
  REQUIRE(kernels.has_value());
  REQUIRE(kernels->size() == 32);
  double sum = 0;
  for (const auto& k : *kernels) sum += *k.find("gpu__time_duration.sum");
  const auto signals = ncu_signals(*kernels);
  CHECK(signals.at("kernels").value == 32);
  CHECK(signals.at("kernels_ns").value == doctest::Approx(sum));
  CHECK(signals.at("longest_kernel_ns").value == *(*kernels)[longest_kernel(*kernels)].find("gpu__time_duration.sum"));
}

TEST_CASE("accesses of a rare kind don't count as the worst") {
  kernel_counters k;
  k.values = {{"smsp__sass_inst_executed_op_global_ld.sum", 1000},
              {"smsp__sass_inst_executed_op_global_st.sum", 50},
              {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio", 32},
              {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio", 4},
              {"gpu__time_duration.sum", 1000}};
  CHECK(ncu_signals({k}).at("store_sector_use").value == doctest::Approx(0.125));
  CHECK(ncu_signals({k}).at("worst_sector_use").value == 1);
  k.values["smsp__sass_inst_executed_op_global_st.sum"] = 500;
  CHECK(ncu_signals({k}).at("worst_sector_use").value == doctest::Approx(0.125));
}

TEST_CASE("numbers with commas, names with quotes and commas, lines between") {
  const auto kernels = parse_ncu_csv(
      "==PROF== Connected\n\"ID\",\"Kernel Name\",\"a__b.sum\",\"c__d.pct\",\"e__f.x\"\n\"\",\"\",\"ns\",\"%\",\"\"\n"
      "a program's own line\n\"0\",\"f(int, \"\"T\"\")\",\"1,234.5\",\"nan\",\"-2\"\n");
  REQUIRE(kernels.has_value());
  REQUIRE(kernels->size() == 1);
  CHECK(kernels->front().kernel == "f(int, \"T\")");
  CHECK(kernels->front().find("a__b.sum") == doctest::Approx(1234.5));
  CHECK_FALSE(kernels->front().find("c__d.pct"));
  CHECK(kernels->front().find("e__f.x") == doctest::Approx(-2));
}

TEST_CASE("a text without kernels is refused") {
  CHECK_FALSE(parse_ncu_csv("").has_value());
  CHECK_FALSE(parse_ncu_csv("==ERROR== something\n").has_value());
  CHECK_FALSE(parse_ncu_csv("\"ID\",\"Kernel Name\",\"a__b\"\n\"\",\"\",\"ns\"\n").has_value());
}

TEST_CASE("why there are no counters") {
  const auto denied = explain_ncu_failure(
      "==PROF== Connected to process 7\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
      "Counters on the target device 0.\n");
  CHECK(denied.tool == "ncu");
  CHECK(denied.reason.find("administrators") != std::string::npos);
  CHECK_FALSE(denied.remedy.empty());
  CHECK(explain_ncu_failure("==WARNING== No kernels were profiled.\n").reason == "the call launched no kernel");
  CHECK(explain_ncu_failure("x\n==ERROR== Failed to create temporary file.\ny").reason == "Failed to create temporary file.");
  CHECK(explain_ncu_failure("").reason == "it gave no counters");
}

TEST_CASE("the command leaves clocks alone and looks at the marked calls only") {
  const auto command = ncu_command("/opt/ncu", 3, "/out.csv");
  const auto follows = [&](const char* option, const std::string& value) {
    const auto at = std::find(command.begin(), command.end(), option);
    return at != command.end() && at + 1 != command.end() && *(at + 1) == value;
  };
  CHECK(command.front() == "/opt/ncu");
  CHECK(follows("--clock-control", "none"));
  CHECK(follows("--profile-from-start", "off"));
  CHECK(follows("--launch-count", "3"));
  CHECK(follows("--print-units", "base"));
  CHECK(follows("--log-file", "/out.csv"));
}
