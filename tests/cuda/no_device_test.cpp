// What a machine without a device says. On one with a device the words are others, and the target is named.
#include <doctest/doctest.h>

#include <filesystem>

#include "backends/cuda/device_probe.hpp"
#include "backends/cuda/evaluator.hpp"
#include "config/problem.hpp"

using namespace kernsmith;

TEST_CASE("the target is named where it can be used, and what is missing where it can't") {
  const auto here = cuda::target_here();
  if (here) {
    CHECK(here->starts_with("cuda/sm_"));
    return;
  }
  CHECK(here.error().kind == fault::missing_here);
  CHECK(here.error().message.find("target cuda needs an NVIDIA device") != std::string::npos);
}

TEST_CASE("a problem is not opened without a device, and nothing is claimed about it") {
  if (cuda::target_here()) return;
  const auto p = load_problem(std::filesystem::path(KERNSMITH_SOURCE_DIR) / "docs/examples/softmax.toml");
  REQUIRE(p.has_value());
  cuda::evaluator_options options;
  options.cache = std::filesystem::path(KERNSMITH_BINARY_DIR) / "cuda-test-cache";
  const auto opened = cuda::open_evaluator(*p, options);
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().kind == fault::missing_here);
}

TEST_CASE("doctor's lines on CUDA: at least one, each with a word") {
  const auto checks = cuda::examine_device(std::filesystem::path(KERNSMITH_BINARY_DIR) / "cuda-test-cache");
  REQUIRE_FALSE(checks.empty());
  for (const cuda::device_check& check : checks) CHECK_FALSE(check.detail.empty());
  if (!cuda::target_here()) CHECK_FALSE(checks.front().ok);
}
