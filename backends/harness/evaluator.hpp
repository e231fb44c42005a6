// What every target offers to the actors: a problem, admitted; build, verify and time candidates for it. Each folder of backends/ has a
// function that opens one; backends/targets.hpp finds it by the target's name.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/harness/statistics.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"

namespace kernsmith::harness {

class hosted_kernels;

/// How much is measured.
enum class effort : std::uint8_t {
  quick,   ///< first workload only, few samples: `evaluate --quick`
  search,  ///< all workloads, some edge shapes, enough samples to rank
  final,   ///< all workloads, all edge shapes and contents, a hidden shape, full ABBA blocks over several process launches
};

struct evaluator_options {
  std::filesystem::path cache;  ///< build cache
  std::vector<int> cores;       ///< measured cores; empty: all that may be used
  std::uint64_t seed = 1;       ///< of input contents; mixed with fresh entropy for timed contents when `unpredictable`
  bool unpredictable = true;
  const std::atomic<bool>* stop = nullptr;  ///< set: give up soon with an `interrupted` error
  double call_timeout_s = 10;               ///< least limit of one verifying call; more where the baseline is slow
  double build_timeout_s = 90;              ///< of one build
  bool strict = false;  ///< final evaluations also run the candidate under sanitizers; missing_here at opening where these don't work
  std::optional<stopping_choice> until;                     ///< when to stop taking blocks; by default the effort's relative width
  std::shared_ptr<hosted_kernels> hosted;                   ///< makes references and baselines in Python; null: there are none
  std::int64_t memory_limit_bytes = std::int64_t{8} << 30;  ///< of a kernel beside its buffers; more where workloads are large
};

struct built_kernel {
  std::string outcome;            ///< empty when built; else build_failed | build_timeout | resource_limit
  std::string detail;             ///< first error line
  std::string log;                ///< bounded
  std::filesystem::path library;  ///< the shared object
  std::string machine_code;  ///< hash over the code and read-only data sections, so that equal code is one node whatever its source text
  std::string source;        ///< what it was built from, where evaluator_options::strict needs it again; else empty
  double build_s = 0;        ///< what the compiler took when it was really run; 0 from the cache
  bool from_cache = false;
};

/// One problem on one target of this machine. Not thread-safe (one per evaluator slot); build() may run beside evaluate().
class evaluator {
 public:
  virtual ~evaluator() = default;

  [[nodiscard]] virtual result<built_kernel> build(const std::string& source) = 0;
  /// Fills outcome, detail, stage, workloads, verification, timing, machine_code, diagnosis, fingerprint, cost; ids are the caller's.
  [[nodiscard]] virtual result<memory::evaluation> evaluate(const built_kernel& kernel, effort how) = 0;
  [[nodiscard]] virtual std::vector<memory::baseline_timing> baselines() = 0;
  /// The baseline against itself, measured like a candidate.
  [[nodiscard]] virtual result<memory::control_result> control() = 0;
  [[nodiscard]] virtual memory::fingerprint machine() const = 0;
  /// Of the accelerator that candidates run on; empty on CPUs.
  [[nodiscard]] virtual memory::device_facts device() const { return {}; }
  /// Seconds spent in compilers and kernels so far (reference and baselines included).
  [[nodiscard]] virtual memory::cost spent() const = 0;
  /// Raw samples of the last evaluate(), as JSON; for the evidence folder.
  [[nodiscard]] virtual std::string samples_json() = 0;
};

}  // namespace kernsmith::harness
