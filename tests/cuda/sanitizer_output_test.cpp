#include <doctest/doctest.h>

#include "backends/cuda/strict_checks.hpp"

using namespace kernsmith;
using cuda::sanitizer_tool;

TEST_CASE("an invalid write is out of bounds, with its place in the source") {
  const auto read = cuda::read_sanitizer_output(sanitizer_tool::memcheck,
                                                "========= COMPUTE-SANITIZER\n"
                                                "========= Invalid __global__ write of size 4 bytes\n"
                                                "=========     at affine(const float *, float *, long)+0xd0 in /build/kernel.cu:12\n"
                                                "=========     by thread (63,0,0) in block (0,0,0)\n"
                                                "========= Invalid __global__ write of size 4 bytes\n"
                                                "=========     at other()+0x10 in kernel.cu:99\n"
                                                "========= ERROR SUMMARY: 2 errors\n");
  CHECK(read.complete);
  REQUIRE(read.finding.has_value());
  CHECK(read.finding->outcome == "out_of_bounds");
  CHECK(read.finding->text ==
        "memcheck: Invalid __global__ write of size 4 bytes at affine(const float *, float *, long)+0xd0 in kernel.cu:12");
}

TEST_CASE("races, uninitialised reads and broken barriers have their words") {
  const auto outcome = [](sanitizer_tool tool, const std::string& line) {
    const auto read = cuda::read_sanitizer_output(tool, "========= " + line + "\n========= ERROR SUMMARY: 1 error\n");
    return read.finding ? read.finding->outcome : std::string("nothing");
  };
  CHECK(outcome(sanitizer_tool::racecheck, "Error: Race reported between Write access at k+0x60 in kernel.cu:4 and Read access") ==
        "nondeterministic");
  CHECK(outcome(sanitizer_tool::initcheck, "Uninitialized __global__ memory read of size 4 bytes") == "nondeterministic");
  CHECK(outcome(sanitizer_tool::synccheck, "Barrier error detected. Divergent thread(s) in block") == "crashed");
  CHECK(outcome(sanitizer_tool::memcheck, "Program hit nothing") == "nothing");
}

TEST_CASE("without a summary silence proves nothing") {
  CHECK_FALSE(cuda::read_sanitizer_output(sanitizer_tool::memcheck, "").complete);
  CHECK_FALSE(cuda::read_sanitizer_output(sanitizer_tool::memcheck, "========= COMPUTE-SANITIZER\n").complete);
  const auto clean =
      cuda::read_sanitizer_output(sanitizer_tool::racecheck, "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n");
  CHECK(clean.complete);
  CHECK_FALSE(clean.finding.has_value());
  // What the kernel prints itself is not the tool's.
  CHECK_FALSE(cuda::read_sanitizer_output(sanitizer_tool::memcheck, "ERROR SUMMARY: 0 errors\nInvalid __global__ write\n").complete);
}
