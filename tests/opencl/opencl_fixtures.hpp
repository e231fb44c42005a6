// Shared by the OpenCL suites: problems, evaluators, and whether this machine has a device.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "backends/opencl/evaluator.hpp"
#include "backends/opencl/toolchain.hpp"
#include "config/problem.hpp"

namespace kernsmith::fixtures {

template <class T>
T value_of(result<T> r) {
  INFO((r ? "" : r.error().message));
  REQUIRE(r);
  return std::move(*r);
}

inline const std::filesystem::path source_folder = KERNSMITH_SOURCE_DIR;

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// ctest takes the message for "skipped".
inline bool skipped() {
  static const bool here = opencl::find_device().has_value();
  if (!here) MESSAGE("SKIPPED: there is no OpenCL device; scripts/setup --with opencl installs one");
  return !here;
}

/// Short limits, so that what hangs does not hold the suite.
inline std::unique_ptr<harness::evaluator> evaluator_of(const problem& p) {
  harness::evaluator_options options;
  options.cache = std::filesystem::path(KERNSMITH_BINARY_DIR) / "opencl-test-cache";
  options.call_timeout_s = 2;
  options.build_timeout_s = 60;
  options.until = harness::stopping_choice{harness::stopping_choice::kind::fixed_count, 1};
  return value_of(opencl::open_evaluator(p, options));
}

inline memory::evaluation evaluated(harness::evaluator& evaluator, const std::string& source, harness::effort how) {
  const auto built = value_of(evaluator.build(source));
  return value_of(evaluator.evaluate(built, how));
}

}  // namespace kernsmith::fixtures
