// Everything trusted that the evaluation of one problem needs and keeps between candidates: compiler, reference, baselines, cases with
// their expected outputs, timing buffers.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpp/candidate_language.hpp"
#include "backends/cpp/evaluator.hpp"
#include "backends/cpp/kernel_process.hpp"
#include "backends/cpp/machine_facts.hpp"
#include "backends/cpp/paired_timing.hpp"
#include "backends/cpp/toolchain.hpp"
#include "backends/cpp/verification.hpp"

namespace kernsmith::cpp {

/// A trusted kernel, built, and its long-lived process.
struct trusted_kernel {
  std::string name;
  built_kernel built;
  output_form form = output_form::native;
  std::vector<std::pair<std::string, std::string>> environment;
  std::optional<kernel_process> process;
};

/// What is known of a baseline on one workload.
struct baseline_state {
  double call_ns = 0;                          ///< one warm call, as first seen
  double error = 0;                            ///< against the reference, in units of the budget
  std::vector<std::vector<double>> blocks_ns;  ///< every sample of the session, by block
};

struct workload_state {
  test_case main;  ///< verification contents
  double weight = 1;
  memory::axis_values axis_names;
  timing_buffers timing;
  std::unique_ptr<kernel_buffers> reference_set;  ///< reference as trusted leg: its own inputs and outputs
  std::vector<baseline_state> baselines;          ///< parallel to the problem's
  double reference_ns = 0;
};

class workbench {
 public:
  [[nodiscard]] static result<std::unique_ptr<workbench>> open(const problem& p, const evaluator_options& options,
                                                               std::unique_ptr<candidate_language> language = nullptr);

  [[nodiscard]] const problem& subject() const { return problem_; }
  [[nodiscard]] const evaluator_options& options() const { return options_; }
  [[nodiscard]] toolchain& compiler() { return *toolchain_; }
  /// Of the candidates; null: C++.
  [[nodiscard]] const candidate_language* language() const { return language_.get(); }
  /// Like build(), of a candidate in its language.
  [[nodiscard]] result<built_kernel> build_candidate(const std::string& source, const std::vector<std::string>& link_flags);
  [[nodiscard]] int threads() const { return static_cast<int>(options_.cores.size()); }
  [[nodiscard]] kernel_clock& clock() { return clock_; }
  [[nodiscard]] const machine_facts& facts() const { return facts_; }
  [[nodiscard]] std::vector<std::unique_ptr<workload_state>>& workloads() { return workloads_; }
  [[nodiscard]] std::vector<trusted_kernel>& baselines() { return baselines_; }
  [[nodiscard]] trusted_kernel& reference() { return reference_; }
  [[nodiscard]] harness::expected_form expected_form() const {
    return reference_.form == output_form::wide ? harness::expected_form::wide : harness::expected_form::native;
  }

  /// Builds and counts the compiler's time. Thread-safe.
  [[nodiscard]] result<built_kernel> build(const std::string& source, const std::vector<std::string>& link_flags = {});
  [[nodiscard]] double build_s() const;

  /// Builds a candidate for something else than timing: `flags` come after the usual ones, `companion` is trusted source beside it.
  [[nodiscard]] result<built_kernel> build_with(const std::string& source, const std::vector<std::string>& flags,
                                                std::string_view companion);

  /// How candidates' processes are run: cores and limits.
  [[nodiscard]] harness::runner_options options_of_runner(const std::filesystem::path& library) const;
  /// A fresh sandboxed process for a library.
  [[nodiscard]] result<kernel_process> start(const std::filesystem::path& library, bool trusted,
                                             const std::vector<std::pair<std::string, std::string>>& environment = {});
  /// The long-lived process of a trusted kernel, started again if it has ended.
  [[nodiscard]] result<kernel_process*> process_of(trusted_kernel& kernel);
  /// Another process of it, new in all that a process's luck depends on.
  [[nodiscard]] result<kernel_process*> new_process_of(trusted_kernel& kernel);

  /// Fills inputs and has the reference compute what must come out. `with_rare_large`: a few elements here and there, of those that `kind`
  /// leaves small, get the magnitude of content::large_magnitude. The case must live as long as the bench: the reference keeps it mapped.
  [[nodiscard]] result<test_case> make_case(std::string what, const std::vector<std::int64_t>& axes, content kind, std::uint64_t seed,
                                            bool with_rare_large = false);
  /// Error of a baseline on a case, in units of the budget; max_reported_error when it fails otherwise. `buffers` must live as long as the
  /// bench.
  [[nodiscard]] result<double> baseline_error(trusted_kernel& baseline, const test_case& c, kernel_buffers& buffers);
  /// A workload with its expected outputs, one pair of timing sets, and a reference that agrees with itself.
  [[nodiscard]] result<std::unique_ptr<workload_state>> make_workload(std::string what, const std::vector<std::int64_t>& axes,
                                                                      double weight);
  /// At least `count` timing sets for a workload, within the limits on memory and descriptors; fewer when they don't allow it.
  [[nodiscard]] result<void> grow_timing_buffers(workload_state& w, std::size_t count);
  /// The same number of timing sets in other memory: where buffers lie in the caches is luck, and each process launch draws its own. No
  /// process but those of the baselines may still know the old sets.
  [[nodiscard]] result<void> replace_timing_buffers(workload_state& w);
  /// Buffers on which the reference can be run for a workload, made at first use.
  [[nodiscard]] result<kernel_buffers*> reference_set(workload_state& w);
  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  /// Unpredictable where the options ask for it, else derived from the seed.
  [[nodiscard]] std::uint64_t entropy();

 private:
  workbench(const problem& p, evaluator_options options) : problem_(p), options_(std::move(options)) {}
  /// Are the libraries that candidates may call here?
  [[nodiscard]] result<void> find_permitted_libraries();
  [[nodiscard]] result<void> build_reference();
  [[nodiscard]] result<void> build_baselines();
  [[nodiscard]] result<trusted_kernel> build_trusted(std::string name, const std::string& source, const std::string& origin,
                                                     const std::vector<std::string>& link_flags = {});
  [[nodiscard]] result<trusted_kernel> build_baseline(const baseline_spec& spec);
  [[nodiscard]] result<void> prepare_workloads();
  [[nodiscard]] result<void> check_reference_against_itself(workload_state& w);
  /// Of one pair of timing sets.
  [[nodiscard]] std::size_t timing_set_bytes(const workload_state& w) const;
  [[nodiscard]] std::size_t timing_set_descriptors() const;

  problem problem_;
  evaluator_options options_;
  std::optional<toolchain> toolchain_;
  std::unique_ptr<candidate_language> language_;
  machine_facts facts_;
  kernel_clock clock_;
  mutable std::mutex build_mutex_;
  double build_s_ = 0;
  std::size_t timing_bytes_ = 0, timing_descriptors_ = 0;
  std::uint64_t entropy_calls_ = 0;
  trusted_kernel reference_;
  std::vector<trusted_kernel> baselines_;
  std::vector<std::unique_ptr<workload_state>> workloads_;
};

/// Refuses a problem that a kernel which computes nothing would pass: zeros, a copy of an input, the mean, the answer for other contents, a
/// tail left out.
[[nodiscard]] result<void> check_null_candidates(workbench& bench);

}  // namespace kernsmith::cpp
