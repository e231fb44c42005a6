#include <doctest/doctest.h>

#include "backends/cuda/device.hpp"
#include "backends/harness/how_it_ended.hpp"

using namespace kernsmith;
using harness::call_status;

TEST_CASE("what the driver says becomes the evaluator's word") {
  CHECK(harness::how_device_failed(700, "CUDA_ERROR_ILLEGAL_ADDRESS").status == call_status::out_of_bounds);
  CHECK(harness::how_device_failed(2, "CUDA_ERROR_OUT_OF_MEMORY").status == call_status::resource_limit);
  CHECK(harness::how_device_failed(701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES").status == call_status::refused);
  CHECK(harness::how_device_failed(209, "CUDA_ERROR_NO_BINARY_FOR_GPU").status == call_status::refused);
  CHECK(harness::how_device_failed(702, "CUDA_ERROR_LAUNCH_TIMEOUT").status == call_status::timeout);
  CHECK(harness::how_device_failed(716, "CUDA_ERROR_MISALIGNED_ADDRESS").status == call_status::crashed);
  CHECK(harness::how_device_failed(719, "CUDA_ERROR_LAUNCH_FAILED").status == call_status::crashed);
}

TEST_CASE("a failing device is nobody's verdict") {
  CHECK(harness::how_device_failed(214, "CUDA_ERROR_ECC_UNCORRECTABLE").status == call_status::lost);
  CHECK(harness::how_device_failed(46, "CUDA_ERROR_DEVICE_UNAVAILABLE").status == call_status::lost);
}

TEST_CASE("the driver's own name and number stay in the detail") {
  const auto why = harness::how_device_failed(700, "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(why.detail.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos);
  CHECK(why.detail.find("700") != std::string::npos);
}

TEST_CASE("without the driver's library the table says what is missing") {
  harness::cuda::driver table;
  const char* const why = table.load("libcuda-of-no-machine.so.7");
  REQUIRE(why != nullptr);
  CHECK(std::string(why).find("libcuda-of-no-machine.so.7") != std::string::npos);
}

TEST_CASE("a library that is no driver is told from one") {
  harness::cuda::driver table;
  const char* const why = table.load("libc.so.6");
  REQUIRE(why != nullptr);
  CHECK(std::string(why).find("cuInit") != std::string::npos);
}
