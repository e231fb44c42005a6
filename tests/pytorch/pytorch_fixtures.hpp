// Shared by the PyTorch suites: problems, evaluators, and whether there is PyTorch here.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "backends/cpp/evaluator.hpp"
#include "backends/pytorch/evaluator.hpp"
#include "backends/pytorch/hosting.hpp"
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

inline problem problem_named(const std::string& name) {
  return value_of(load_problem(source_folder / "tests/pytorch/problems" / (name + ".toml")));
}

/// ctest takes the message for "skipped".
inline bool skipped() {
  static const bool here = pytorch::find_python().has_value();
  if (!here) MESSAGE("SKIPPED: there is no PyTorch; scripts/setup --with pytorch installs it");
  return !here;
}

/// Short limits, so that what hangs does not hold the suite.
inline harness::evaluator_options quick_options() {
  harness::evaluator_options options;
  options.cache = std::filesystem::path(KERNSMITH_BINARY_DIR) / "pytorch-test-cache";
  options.call_timeout_s = 5;
  options.build_timeout_s = 60;
  options.until = harness::stopping_choice{harness::stopping_choice::kind::fixed_count, 1};
  options.hosted = pytorch::open_hosting(options.cache);
  return options;
}

inline std::unique_ptr<harness::evaluator> python_evaluator_of(const problem& p) {
  return value_of(pytorch::open_evaluator("pytorch/cpu", p, quick_options()));
}

inline memory::evaluation evaluated(harness::evaluator& evaluator, const std::string& source, harness::effort how) {
  const auto built = value_of(evaluator.build(source));
  return value_of(evaluator.evaluate(built, how));
}

}  // namespace kernsmith::fixtures
