// The strictest part of an evaluation: the candidate built with sanitizers, on the cases of its verification.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "backends/cpp/edge_cases.hpp"
#include "backends/cpp/sanitizers.hpp"
#include "backends/cpp/workbench.hpp"
#include "memory/records.hpp"

namespace kernsmith::cpp {

class strict_checks {
 public:
  strict_checks(workbench& bench, edge_cases& edges) : bench_(bench), edges_(edges) {}

  /// Finds the sanitizers' run-time libraries and tries each sanitizer on a kernel that has the fault it is there for, and ThreadSanitizer
  /// on a correct OpenMP kernel too: one that finds nothing, or everything, is no evidence. missing_here, with the remedy.
  [[nodiscard]] result<void> prepare();

  /// Builds `source` for each sanitizer and runs it on all edge shapes, contents that hurt, and the workloads, shrunk where they would take
  /// long. Fills `e.sanitizers`; the first finding becomes the outcome and ends it. Needs prepare().
  [[nodiscard]] result<void> run(const std::string& source, memory::evaluation& e);

 private:
  /// One call to examine.
  struct strict_case {
    const test_case* c;
    kernel_buffers* buffers;
  };
  [[nodiscard]] result<built_kernel> build(sanitizer which, const std::string& source);
  [[nodiscard]] result<kernel_process> start(sanitizer which, const std::filesystem::path& library);
  [[nodiscard]] result<void> try_out(sanitizer which);
  [[nodiscard]] result<std::optional<sanitizer_finding>> finding_in(sanitizer which, const char* source);
  [[nodiscard]] result<std::vector<strict_case>> cases();
  [[nodiscard]] result<void> run_under(sanitizer which, const std::string& source, memory::sanitizer_run& run, memory::evaluation& e);
  [[nodiscard]] result<check_result> check(sanitizer which, kernel_process& process, const strict_case& one);

  workbench& bench_;
  edge_cases& edges_;
  std::map<sanitizer, std::filesystem::path> runtimes_;
};

}  // namespace kernsmith::cpp
