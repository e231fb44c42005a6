// Candidates in Python: what can be said before they run, and what their processes may do.
#pragma once

#include <filesystem>
#include <string>

#include "backends/harness/evaluator.hpp"
#include "backends/harness/runner_client.hpp"
#include "backends/pytorch/python_installation.hpp"
#include "config/problem.hpp"

namespace kernsmith::pytorch {

class python_candidates {
 public:
  python_candidates(python_installation python, problem p, std::filesystem::path cache, bool on_device, bool interprets)
      : python_(std::move(python)), problem_(std::move(p)), cache_(std::move(cache)), on_device_(on_device), interprets_(interprets) {}

  [[nodiscard]] std::string compiler() const;  ///< "PyTorch 1.13.1, Python 3.11.2"
  /// Parses the source and looks for what it imports, in the sandbox, without running it. `refused` when something is not installed.
  [[nodiscard]] result<harness::built_kernel> build(const std::string& source, double timeout_s) const;
  void prepare(harness::runner_options& options) const;
  [[nodiscard]] bool may_execute(const std::filesystem::path& file) const;

 private:
  python_installation python_;
  problem problem_;
  std::filesystem::path cache_;
  bool on_device_, interprets_;  ///< interprets: Triton's interpreter instead of its compiler
};

}  // namespace kernsmith::pytorch
