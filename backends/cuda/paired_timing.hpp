// Timing of a candidate beside a trusted kernel on the device: interleaved, on contents that are fresh for every timed call, every timed
// output checked. The counterpart of backends/cpp/paired_timing.hpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cuda/device_monitor.hpp"
#include "backends/cuda/fresh_contents.hpp"
#include "backends/cuda/workbench.hpp"
#include "backends/harness/kept_answers.hpp"
#include "backends/harness/statistics.hpp"

namespace kernsmith::cuda {

/// Who computes the outputs that a timed call must match.
struct trusted_leg {
  kernel_process* process = nullptr;
  output_form form = output_form::native;  ///< wide: the float64 reference, called set by set
  bool timed = true;                       ///< is this leg the baseline whose times count?
  bool champion = false;                   ///< the bench's champion: a candidate, whose word alone condemns nobody
  double budget_scale = 2;                 ///< both sides may be off by a budget
};

struct timing_plan {
  int batch = 1;
  bool warm = false;                        ///< an untimed call on old contents first
  double timeout_s = 30;                    ///< per batch
  bool cold = false;                        ///< the second-level cache is written through before each timed call
  const std::atomic<bool>* stop = nullptr;  ///< set from outside: an error of kind interrupted at the next chance
  harness::kept_answers* kept = nullptr;
};

class paired_timing {
 public:
  paired_timing(workbench& bench, workload_state& w, kernel_process& candidate, const trusted_leg& trusted, const timing_plan& plan,
                std::uint64_t seed);

  /// Contents and slack of all sets, what has to be captured, and both legs once on every set, untimed.
  [[nodiscard]] result<check_result> settle();
  /// One ABBA block. The outcome in the result is empty when every timed output was right. A block in which the device slowed itself down
  /// leaves `out` without samples.
  [[nodiscard]] result<check_result> block(int launch, harness::timing_block& out);
  /// Was anything written beside the tensors of any set?
  [[nodiscard]] result<check_result> check_slack();
  [[nodiscard]] std::int64_t checked_outputs() const { return checked_; }
  /// Of one call, by the candidate's own device events.
  [[nodiscard]] double candidate_event_ns() const { return event_ns_; }
  [[nodiscard]] const std::vector<device_state>& states() const { return states_; }
  [[nodiscard]] int discarded_blocks() const { return discarded_; }

 private:
  [[nodiscard]] std::uint64_t random();
  void draw_batch(bool may_leave_out);
  [[nodiscard]] std::vector<device_buffers*> chosen(const std::vector<device_buffers*>& sets) const;
  /// Fresh contents, poisoned outputs, the device handed to the leg.
  [[nodiscard]] result<void> make_ready(std::vector<device_buffers*>& sets, harness::poison pattern);
  [[nodiscard]] result<std::optional<check_result>> run_candidate(harness::poison pattern, double& per_call_ns);
  [[nodiscard]] result<void> run_trusted(harness::poison pattern, double& per_call_ns);
  [[nodiscard]] result<check_result> pair(bool candidate_first, bool may_leave_out, harness::timing_block& out);
  [[nodiscard]] result<check_result> judge_pair(harness::poison pattern);
  [[nodiscard]] result<check_result> judge_inputs();
  [[nodiscard]] result<check_result> judge_by_reference(harness::poison pattern);
  /// The champion failed, or gave something else than the reference: it is the champion no longer.
  [[nodiscard]] error disown_champion(const std::string& why);
  [[nodiscard]] result<check_result> surprise();
  [[nodiscard]] double per_call(const harness::call_result& call, kernel_process& process) const;
  /// Calls the batch, then at once asks the device for a trivial piece of the verifier's own work, adds what that takes to `idle_ns`, and
  /// has the process stand still. A device that is idle answers at once.
  [[nodiscard]] result<harness::call_result> timed_call(kernel_process& process, const std::vector<device_buffers*>& sets,
                                                        std::vector<double>& idle_ns);
  /// `cheating` when the device is still at work after the candidate's answers, and not after the other leg's.
  [[nodiscard]] check_result judge_idleness() const;

  workbench& bench_;
  workload_state& w_;
  kernel_process& candidate_;
  trusted_leg trusted_;
  timing_plan plan_;
  std::vector<device_buffers*> candidate_sets_, trusted_sets_;
  std::optional<fresh_contents> contents_;  ///< of the pair at hand
  harness::renewal renewal_ = harness::renewal::part;
  std::vector<std::size_t> batch_;
  std::optional<std::size_t> left_out_;
  std::uint64_t left_out_before_ = 0;
  std::uint64_t state_;
  std::int64_t checked_ = 0;
  std::vector<double> candidate_idle_ns_, trusted_idle_ns_, candidate_batch_ns_;
  double event_ns_ = 0;
  std::vector<device_state> states_;
  int discarded_ = 0;
  device_array flush_;
};

}  // namespace kernsmith::cuda
