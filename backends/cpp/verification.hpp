// One check of a kernel: call it on poisoned buffers and judge everything it left behind.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpp/kernel_process.hpp"
#include "backends/harness/comparison.hpp"
#include "config/input_values.hpp"
#include "config/problem.hpp"

namespace kernsmith::cpp {

/// One shape with one content, and what must come out. `oracle` holds the pristine inputs and the expected outputs.
struct test_case {
  std::string what;  ///< for messages: "workload B=37, N=50257", "edge shape ..."
  std::vector<std::int64_t> axes;
  content kind = content::as_declared;
  std::uint64_t seed = 0;
  std::unique_ptr<kernel_buffers> oracle;
  harness::expected_form form = harness::expected_form::wide;
  std::vector<compare_spec> specs;  ///< per output
  double budget_scale = 1;          ///< above 1 where the problem's own baseline needs it (never on workloads)
  double precision_limit = 0;       ///< largest error allowed by the precision contract, in units of the budget; 0: none stated
};

/// What one check found. An empty outcome means that nothing is wrong.
struct check_result {
  std::string outcome;
  std::string detail;
  std::string rule;      ///< when the outcome is `cheating`
  double max_error = 0;  ///< in units of the budget
  double wall_ns = 0;
  [[nodiscard]] bool ok() const { return outcome.empty(); }
};

/// "B=4096, N=1024"
[[nodiscard]] std::string axes_text(const problem& p, const std::vector<std::int64_t>& axes);

/// Compares all outputs. `expected` has the same axes; `pattern` tells unwritten elements from wrong ones.
[[nodiscard]] check_result check_outputs(const problem& p, const std::vector<compare_spec>& specs, const kernel_buffers& got,
                                         const kernel_buffers& expected, harness::expected_form form, harness::poison pattern, double scale,
                                         int threads, const std::optional<std::uint64_t>& sample = std::nullopt);

/// Of all output bytes, or where there are more than `most_bytes` of a window of each output that `where` chooses. Equal for equal bytes;
/// outputs that differ are as good as never taken for equal.
[[nodiscard]] std::uint64_t fingerprint_of_outputs(const kernel_buffers& buffers, std::uint64_t where = 0,
                                                   std::size_t most_bytes = std::numeric_limits<std::size_t>::max());

/// Why the outputs of a call are wrong, where the process itself shows it: it wrote on after its answer, or had itself continued
/// (`cheating`); or the problem is compared bit by bit and the same call gives other bits each time (`nondeterministic`). Otherwise `check`
/// as it is. The process stands still after its answer; afterwards it runs.
[[nodiscard]] result<check_result> look_behind(check_result check, const std::vector<compare_spec>& specs, kernel_process& process,
                                               kernel_buffers& buffers, double timeout_s);

/// What is allowed to a build that is not the one to be judged (another level of optimisation rounds otherwise).
struct check_allowance {
  double budget_scale = 1;
  bool any_precision = false;
};

/// The whole check: inputs restored, slack and outputs filled, one call, then slack, inputs and outputs judged.
[[nodiscard]] result<check_result> check_kernel(const problem& p, const test_case& c, kernel_process& process, kernel_buffers& buffers,
                                                harness::poison pattern, double timeout_s, int threads,
                                                const check_allowance& allowance = {});

}  // namespace kernsmith::cpp
