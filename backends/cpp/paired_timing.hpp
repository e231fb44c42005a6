// Timing of a candidate beside a trusted kernel: interleaved, on contents that are fresh for every timed call, every timed output checked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpp/kernel_process.hpp"
#include "backends/cpp/verification.hpp"
#include "backends/harness/kept_answers.hpp"
#include "backends/harness/statistics.hpp"

namespace kernsmith::cpp {

/// Buffers for timing one workload: as many distinct sets as a batch of calls needs, one half for the candidate, one for the trusted kernel
/// that runs on the same contents.
struct timing_buffers {
  std::vector<std::unique_ptr<kernel_buffers>> candidate, trusted;
};

/// Who computes the outputs that a timed call must match.
struct trusted_leg {
  kernel_process* process = nullptr;
  output_form form = output_form::native;  ///< wide: the float64 reference; its outputs stand in `wide`
  kernel_buffers* wide = nullptr;          ///< for output_form::wide: one set, used for one call at a time
  bool timed = true;                       ///< is this leg the baseline whose times count?
  double budget_scale = 2;                 ///< both sides may be off by a budget
};

struct timing_plan {
  /// The reference, which has the last word where the timed baseline and the candidate differ: a baseline errs as well. Asked for then
  /// only.
  std::function<result<trusted_leg>()> arbiter;
  int batch = 1;                            ///< calls per outside measurement, each on its own set
  bool warm = false;                        ///< an untimed call on old contents first, so that caches hold what they would in a loop
  double timeout_s = 60;                    ///< per batch
  int threads = 1;                          ///< of the comparison
  bool samples_outputs = false;             ///< of large outputs a random part is compared after each timed call, see compare_sample
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: an error of kind interrupted at the next chance
  harness::kept_answers* kept = nullptr;    ///< times of unusual pairs, over all launches; none: no such pairs
  std::vector<std::byte>* evict = nullptr;  ///< written through before each timed call of the candidate: cold caches
};

/// Times one workload block by block. Everything it refers to must outlive it.
class paired_timing {
 public:
  paired_timing(const problem& p, const test_case& c, timing_buffers& buffers, kernel_process& candidate, const trusted_leg& trusted,
                const timing_plan& plan, std::uint64_t seed);

  /// Calls both legs once on every set, untimed: first touches and lazy set-up are over afterwards.
  [[nodiscard]] result<check_result> settle();
  /// One ABBA block. The outcome in the result is empty when every timed output was right.
  [[nodiscard]] result<check_result> block(int launch, harness::timing_block& out);
  [[nodiscard]] std::int64_t checked_outputs() const { return checked_; }
  [[nodiscard]] double candidate_inside_ns() const { return inside_ns_; }

 private:
  [[nodiscard]] std::uint64_t random();
  /// The sets of the next pair's batches: all in an order drawn anew, now and then without one.
  void draw_batch(bool may_leave_out);
  /// `cheating` when outputs of the set that was left out were written.
  [[nodiscard]] check_result judge_left_out() const;
  /// Both processes at rest: neither leg's idle threads spin into the other's timed call, and both begin asleep.
  void await_rest();
  [[nodiscard]] result<std::optional<check_result>> run_candidate(std::uint64_t contents, harness::poison pattern, double& per_call_ns);
  [[nodiscard]] result<void> run_trusted(std::uint64_t contents, harness::poison pattern, double& per_call_ns);
  static void fill_outputs(const std::vector<kernel_buffers*>& sets, harness::poison pattern, std::uint64_t where);
  [[nodiscard]] result<check_result> pair(bool candidate_first, bool may_leave_out, harness::timing_block& out);
  [[nodiscard]] result<check_result> judge(harness::poison pattern);
  /// What the reference says of `got`, which was computed from the inputs of `same`.
  [[nodiscard]] result<check_result> ask_arbiter(kernel_buffers& got, const kernel_buffers& same, harness::poison pattern);
  /// Now and then a pair that does not count, with an unusual renewal of the contents, and more of them while they raise a suspicion.
  [[nodiscard]] result<check_result> surprise();
  [[nodiscard]] double per_call(const harness::call_result& call, kernel_process& process) const;
  [[nodiscard]] result<void> refresh(std::vector<kernel_buffers*>& sets, std::uint64_t contents);

  const problem& p_;
  const test_case& case_;
  kernel_process& candidate_;
  trusted_leg trusted_;
  timing_plan plan_;
  std::vector<kernel_buffers*> candidate_sets_, trusted_sets_;
  harness::renewal renewal_ = harness::renewal::part;  ///< of the pair at hand
  std::vector<std::size_t> batch_;                     ///< of the pair at hand: positions in the sets
  std::optional<std::size_t> left_out_;                ///< made ready like the others, but not called
  std::uint64_t left_out_before_ = 0, left_out_where_ = 0;
  std::uint64_t state_;
  std::int64_t checked_ = 0;
  double inside_ns_ = 0;
};

}  // namespace kernsmith::cpp
