// The verification of one candidate: which cases it is checked on, in what order, and what its process does beside.
#pragma once

#include <vector>

#include "backends/cuda/workbench.hpp"
#include "memory/records.hpp"

namespace kernsmith::cuda {

class candidate_checks {
 public:
  explicit candidate_checks(workbench& bench) : bench_(bench) {}
  /// Fills outcome and verification of `e`; an empty outcome means that nothing is wrong.
  [[nodiscard]] result<void> verify(kernel_process& process, effort how, memory::evaluation& e);
  /// check_conduct on the first workload.
  [[nodiscard]] result<check_result> conduct(kernel_process& process, const built_kernel& kernel);
  /// Copies what a check found into `e`; false when it found nothing.
  static bool took_failure(const check_result& check, memory::evaluation& e);

 private:
  result<void> verify_cases(kernel_process& process, effort how, memory::evaluation& e);
  result<bool> check_case(kernel_process& process, const test_case& c, device_buffers& buffers, bool twice, double timeout_s,
                          memory::evaluation& e);
  result<bool> check_stream_order(kernel_process& process, edge_case& edge, memory::evaluation& e);
  result<bool> check_edges(kernel_process& process, const std::vector<edge_case*>& list, std::size_t from, memory::evaluation& e);
  /// `free_before`: of the device's memory, before the candidate's first call.
  result<bool> took_too_much(std::size_t free_before, memory::evaluation& e);
  [[nodiscard]] double check_timeout_s(const workload_state& w) const;

  workbench& bench_;
};

}  // namespace kernsmith::cuda
