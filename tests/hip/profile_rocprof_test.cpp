// The profiler adapter. The tables below were NOT recorded on a device: they follow the columns that AMD's documentation and published
// outputs of the tools show (rocprof with --timestamp on, ROCm 5.x; rocprofv3, ROCm 6.x), with numbers made up for a kernel of known size.
#include "backends/hip/profile_rocprof.hpp"

#include <doctest/doctest.h>

namespace kernsmith::hip {
namespace {

const std::string rocprof_table =
    "RPL: on '240101_000000' from '/opt/rocm'\n"
    "\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"queue-index\",\"pid\",\"tid\",\"grd\",\"wgr\",\"lds\",\"scr\",\"arch_vgpr\","
    "\"accum_vgpr\","
    "\"sgpr\",\"wave_size\",\"sig\",\"obj\",\"DispatchNs\",\"BeginNs\",\"EndNs\",\"CompleteNs\",\"DurationNs\",\"VALUBusy\",\"L2CacheHit\","
    "\"FetchSize\","
    "\"WriteSize\"\n"
    "1,\"finish_kernel(float const*, float*) [clone "
    ".kd]\",0,0,2,17,17,256,256,1024,0,8,0,16,64,\"0x0\",\"0x7f\",100,5000,8000,8100,3000,1.5,50,4,1\n"
    "0,\"row_kernel(float const*, float*, long) [clone "
    ".kd]\",0,0,0,17,17,65536,256,1024,0,20,4,16,64,\"0x0\",\"0x7f\",10,1000,4200,4300,3200,42.5,"
    "12.5,2048,1024\n";

const std::string rocprofv3_table =
    "\"Correlation_Id\",\"Dispatch_Id\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Thread_Id\",\"Grid_Size\",\"Kernel_Id\",\"Kernel_Name\","
    "\"Workgroup_Size\","
    "\"LDS_Block_Size\",\"Scratch_Size\",\"VGPR_Count\",\"Accum_VGPR_Count\",\"SGPR_Count\",\"Counter_Name\",\"Counter_Value\",\"Start_"
    "Timestamp\","
    "\"End_Timestamp\"\n"
    "1,1,\"Agent 4\",1,9,9,65536,10,\"void row_kernel<float>(float*, float const*)\",256,1024,16,20,4,32,\"VALUBusy\",42.500000,1000,4200\n"
    "1,1,\"Agent 4\",1,9,9,65536,10,\"void row_kernel<float>(float*, float "
    "const*)\",256,1024,16,20,4,32,\"OccupancyPercent\",6.25e+01,1000,4200\n"
    "2,2,\"Agent 4\",1,9,9,256,11,\"finish_kernel(float*)\",256,0,0,8,0,32,\"VALUBusy\",1.5,5000,8000\n";

TEST_CASE("rocprof's table: a row for each dispatch") {
  const auto read = parse_rocprof_csv(rocprof_table);
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 2);
  const dispatch_counters& row = read->front();  // by number, whatever the order of the lines
  CHECK(row.kernel == "row_kernel(float const*, float*, long)");
  CHECK(row.ns == 3200);
  CHECK(row.vgprs == 20);
  CHECK(row.agprs == 4);
  CHECK(row.lds_bytes == 1024);
  CHECK(row.threads == 65536);
  CHECK(row.values.size() == 4);
  CHECK(row.find("VALUBusy") == 42.5);
  CHECK(!row.find("wave_size"));
}

TEST_CASE("rocprofv3's table: a row for each dispatch and counter") {
  const auto read = parse_rocprof_csv(rocprofv3_table);
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 2);
  const dispatch_counters& row = read->front();
  CHECK(row.kernel == "void row_kernel<float>(float*, float const*)");
  CHECK(row.ns == 3200);
  CHECK(row.scratch_bytes == 16);
  CHECK(row.find("VALUBusy") == 42.5);
  CHECK(row.find("OccupancyPercent") == 62.5);
  CHECK((*read)[1].values.size() == 1);
}

TEST_CASE("signals by the names that diagnosis knows") {
  const auto signals = rocprof_signals(*parse_rocprof_csv(rocprof_table), 1600);
  CHECK(signals.at("kernels").value == 2);
  CHECK(signals.at("kernels_ns").value == 6200);
  CHECK(signals.at("longest_kernel_ns").value == 3200);
  CHECK(signals.at("dram_bytes").value == (2048 + 1024 + 4 + 1) * 1024.0);
  CHECK(signals.at("l2_hit_rate").value == doctest::Approx(0.125));
  CHECK(signals.at("busiest_pipe").value == doctest::Approx(0.425));
  CHECK(signals.at("dram_throughput").value == doctest::Approx(3072 * 1024.0 / 3200 / 1600));
  CHECK(signals.at("registers").value == 24);
  CHECK(signals.at("blocks").value == 256);
  CHECK(signals.at("registers").tool == "rocprof");
  CHECK(!signals.contains("achieved_occupancy"));  // not counted: not there
  const auto without = rocprof_signals(*parse_rocprof_csv(rocprofv3_table), 0);
  CHECK(without.at("achieved_occupancy").value == doctest::Approx(0.625));
  CHECK(!without.contains("dram_bytes"));
  CHECK(!without.contains("dram_throughput"));
  CHECK(rocprof_signals({}, 1600).empty());
}

TEST_CASE("runs of several counter groups become one table") {
  auto first = *parse_rocprof_csv(rocprofv3_table), second = first;
  for (dispatch_counters& d : second) d.values = {{"L2CacheHit", 70}};
  const auto merged = merge_runs({first, second});
  REQUIRE(merged.has_value());
  CHECK(merged->front().values.size() == 3);
  second[0].kernel = "another";
  CHECK(!merge_runs({first, second}).has_value());
  second.pop_back();
  CHECK(!merge_runs({first, second}).has_value());
  CHECK(!merge_runs({}).has_value());
}

TEST_CASE("tables that hold nothing are refused") {
  for (const char* text : {"", "no table\n", "\"Index\",\"KernelName\"\n", "\"Name\",\"Calls\"\n\"k\",1\n"}) {
    const auto read = parse_rocprof_csv(text);
    REQUIRE(!read.has_value());
    CHECK(read.error().kind == fault::corrupt);
  }
  const auto cut = parse_rocprof_csv(rocprofv3_table + "3,3,\"Agent 4\",1,9");
  REQUIRE(cut.has_value());
  CHECK(cut->size() == 2);
}

TEST_CASE("commands, input and failures in words") {
  CHECK(rocprof_input().starts_with("pmc: SQ_WAVES"));
  const auto third = rocprof_command({"/opt/rocm/bin/rocprofv3", true}, "in.txt", "/out");
  CHECK(third.back() == "--");
  const auto first = rocprof_command({"/opt/rocm/bin/rocprof", false}, "in.txt", "/out");
  CHECK(first.back() == "/out/kernels.csv");
  CHECK(explain_rocprof_failure("Unable to open /dev/kfd read-write").remedy.find("render") != std::string::npos);
  CHECK(explain_rocprof_failure("x\nError: metric 'Foo' not found\n").reason == "Error: metric 'Foo' not found");
  CHECK(explain_rocprof_failure("").reason == "it gave no counters");
  CHECK(!missing_rocprof().remedy.empty());
}

}  // namespace
}  // namespace kernsmith::hip
