// Counting a kernel and the baseline on one workload: on contents that are new each time, every output of a counted call compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/external/counting.hpp"
#include "backends/external/device_runs.hpp"

namespace kernsmith::external {

/// What counting a kernel on a workload gave.
struct workload_count {
  cpp::check_result failure;  ///< of a counted call, or `unmeasured`
  bool unexplained = false;   ///< see run_outcome
  std::int64_t checked = 0;   ///< counted outputs that were compared
  std::vector<harness::timing_block> blocks;
  harness::ratio_estimate ratio;
  std::map<std::string, double> counters;  ///< all that the target reports, of the last call
};

class workload_counting {
 public:
  /// All must outlive this.
  workload_counting(cpp::workbench& bench, device_runs& runs, const external_objective& objective, cpp::workload_state& workload)
      : bench_(bench), runs_(runs), objective_(objective), workload_(workload) {}

  [[nodiscard]] result<workload_count> measure(const harness::built_kernel& kernel, const harness::built_kernel& baseline,
                                               harness::effort how);

 private:
  [[nodiscard]] result<void> draw_contents(std::size_t count);
  [[nodiscard]] result<void> refill(cpp::test_case& c);
  [[nodiscard]] result<run_outcome> count(const harness::built_kernel& kernel, const std::vector<std::size_t>& order);
  /// Adds the candidate's counts to `block`; false when the measurement is over.
  [[nodiscard]] result<bool> count_candidate(const harness::built_kernel& kernel, const std::vector<std::size_t>& order,
                                             std::vector<double>& into, workload_count& so_far);
  [[nodiscard]] result<void> count_baseline(const harness::built_kernel& baseline, const std::vector<std::size_t>& order,
                                            std::vector<double>& into);
  [[nodiscard]] result<void> measure_exactly(const harness::built_kernel& kernel, const harness::built_kernel& baseline,
                                             harness::effort how, std::vector<std::size_t> order, workload_count& so_far);
  [[nodiscard]] result<void> measure_in_blocks(const harness::built_kernel& kernel, const harness::built_kernel& baseline,
                                               harness::effort how, std::vector<std::size_t> order, workload_count& so_far);

  cpp::workbench& bench_;
  device_runs& runs_;
  const external_objective& objective_;
  cpp::workload_state& workload_;
  std::vector<cpp::test_case> fresh_;  ///< kept, and filled anew: the reference knows their buffers
};

}  // namespace kernsmith::external
