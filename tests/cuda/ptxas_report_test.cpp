#include "backends/cuda/ptxas_report.hpp"

#include <doctest/doctest.h>

using namespace kernsmith;

TEST_CASE("registers, spills and shared memory are read for each kernel, device functions left out") {
  const char* const log =
      "ptxas info    : 0 bytes gmem, 24 bytes cmem[4]\n"
      "ptxas info    : Compiling entry function '_Z6affinePKfPfl' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z6affinePKfPfl\n"
      "    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem\n"
      "ptxas info    : Function properties for helper\n"
      "    512 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90a'\n"
      "ptxas info    : Function properties for second\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 0 barriers\n"
      "ptxas info    : Compile time = 5.1 ms\n";
  const auto kernels = cuda::parse_ptxas_report(log);
  REQUIRE(kernels.size() == 2);
  CHECK(kernels[0].name == "_Z6affinePKfPfl");
  CHECK(kernels[0].registers == 40);
  CHECK(kernels[0].stack_bytes == 16);
  CHECK(kernels[0].spill_store_bytes == 8);
  CHECK(kernels[0].spill_load_bytes == 12);
  CHECK(kernels[0].static_shared_bytes == 1024);
  CHECK(kernels[1].registers == 255);
  CHECK(kernels[1].static_shared_bytes == 0);
  const auto most = cuda::largest_resources(kernels);
  CHECK(most.registers == 255);
  CHECK(most.stack_bytes == 16);
}

TEST_CASE("a log without the assembler's report has no kernels") {
  CHECK(cuda::parse_ptxas_report("").empty());
  CHECK(cuda::parse_ptxas_report("kernel.cu(3): error: expected a \";\"\n").empty());
  CHECK(cuda::parse_ptxas_report("ptxas info    : Used 12 registers").empty());
}
