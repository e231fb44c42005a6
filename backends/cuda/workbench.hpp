// Everything trusted that the evaluation of one problem on a device needs and keeps between candidates: compiler, reference, baselines,
// cases with their expected outputs, timing buffers.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/candidate_language.hpp"
#include "backends/cuda/evaluator.hpp"
#include "backends/cuda/host_reference.hpp"
#include "backends/cuda/toolchain.hpp"
#include "backends/cuda/verification.hpp"

namespace kernsmith::cuda {

/// A trusted kernel, built, and its long-lived process.
struct trusted_kernel {
  std::string name;
  built_kernel built;
  output_form form = output_form::native;
  std::optional<kernel_process> process;
};

/// What is known of a baseline on one workload.
struct baseline_state {
  double call_ns = 0;
  double error = 0;  ///< against the reference, in units of the budget
  std::vector<std::vector<double>> blocks_ns;
};

/// As many distinct sets as a batch of calls needs, for the candidate and for the trusted kernel that runs on the same contents.
struct timing_buffers {
  std::vector<std::unique_ptr<device_buffers>> candidate, trusted;
};

struct workload_state {
  test_case main;
  double weight = 1;
  memory::axis_values axis_names;
  std::unique_ptr<device_buffers> verified;  ///< the candidate's: each tensor between unmapped addresses
  timing_buffers timing;
  std::unique_ptr<device_buffers> reference_set;
  std::vector<baseline_state> baselines;
  double reference_ns = 0;
};

struct edge_case {
  test_case c;
  std::unique_ptr<device_buffers> buffers, second;  ///< the candidate's; the second for judge::stream_order, made at first use
};

/// The fastest verified candidate so far. Where the baseline is too slow to be called for every sample, it computes what timed calls must
/// give.
struct champion_kernel {
  std::filesystem::path library;          ///< empty: none
  std::optional<kernel_process> process;  ///< started when it is first needed
};

class workbench {
 public:
  [[nodiscard]] static result<std::unique_ptr<workbench>> open(const problem& p, const evaluator_options& options,
                                                               std::shared_ptr<const candidate_language> language);

  [[nodiscard]] const problem& subject() const { return problem_; }
  [[nodiscard]] const evaluator_options& options() const { return options_; }
  [[nodiscard]] const std::shared_ptr<device>& on() const { return device_; }
  [[nodiscard]] trusted_kernels& trusted() { return *trusted_; }
  [[nodiscard]] judge judging() { return {problem_, *trusted_}; }
  [[nodiscard]] const toolchain& compiler() const { return *toolchain_; }
  [[nodiscard]] kernel_clock& clock() { return clock_; }
  [[nodiscard]] std::vector<std::unique_ptr<workload_state>>& workloads() { return workloads_; }
  [[nodiscard]] std::vector<trusted_kernel>& baselines() { return baselines_; }
  [[nodiscard]] bool has_device_reference() const { return reference_.has_value(); }
  /// The float64 reference on the device; only where has_device_reference().
  [[nodiscard]] trusted_kernel& reference() { return *reference_; }

  [[nodiscard]] result<built_kernel> build(const std::string& source, const std::vector<std::string>& extra_flags = {},
                                           const std::vector<std::string>& link_flags = {});
  /// A candidate in the language that the bench was opened for.
  [[nodiscard]] result<built_kernel> build_candidate(const std::string& source);
  /// Null for CUDA.
  [[nodiscard]] const candidate_language* language() const { return language_.get(); }
  [[nodiscard]] double build_s() const;
  /// In a runner that was begun before, where there is one.
  [[nodiscard]] result<kernel_process> start(const std::filesystem::path& library, bool trusted);
  /// Has so many runners set themselves up for the next start() calls, beside whatever goes on: a context takes 0.2 s. Returns at once.
  void begin_runners(std::size_t count);
  /// Waits until those do nothing more: before anything is timed.
  void settle_runners();
  /// Begins one on a device at rest, to see what its context takes.
  [[nodiscard]] result<void> weigh_runner();
  /// Device memory of one runner without buffers, in bytes.
  [[nodiscard]] std::size_t runner_bytes() const { return runner_bytes_; }
  [[nodiscard]] result<kernel_process*> process_of(trusted_kernel& kernel);
  [[nodiscard]] const std::filesystem::path& champion() const { return champion_.library; }
  /// An empty path: nobody. Its process ends.
  void name_champion(std::filesystem::path library) { champion_ = {std::move(library), std::nullopt}; }
  [[nodiscard]] result<kernel_process*> process_of_champion();

  /// Fills inputs and has a reference compute what must come out: the host's on small shapes (the device's is then held against it) and
  /// where it is the only one, else the device's. Lives as long as the bench.
  [[nodiscard]] result<test_case> make_case(std::string what, const std::vector<std::int64_t>& axes, content kind, std::uint64_t seed,
                                            bool small, bool with_rare_large = false);
  [[nodiscard]] result<std::unique_ptr<workload_state>> make_workload(std::string what, const std::vector<std::int64_t>& axes,
                                                                      double weight);
  /// At least `count` timing sets, within the limit on memory; all in new memory when there were fewer, or when `anew`.
  [[nodiscard]] result<void> grow_timing_buffers(workload_state& w, std::size_t count, bool anew = false);
  [[nodiscard]] result<device_buffers*> reference_set(workload_state& w);
  /// Error of the first baseline on a case, in units of the budget; max_reported_error when it fails otherwise.
  [[nodiscard]] result<double> baseline_error(const test_case& c, device_buffers& buffers);

  [[nodiscard]] result<std::vector<edge_case*>> edge_shapes(std::size_t count);
  [[nodiscard]] result<std::vector<edge_case*>> hard_contents();
  /// A shape that nobody knew before; null when the baseline can't do it.
  [[nodiscard]] result<edge_case*> hidden_shape(std::uint64_t seed);

  [[nodiscard]] bool stopped() const { return options_.stop != nullptr && options_.stop->load(); }
  [[nodiscard]] std::uint64_t entropy();

 private:
  [[nodiscard]] harness::runner_options runner() const;
  [[nodiscard]] result<kernel_process> timed_as_asked(result<kernel_process> started) const;
  workbench(const problem& p, evaluator_options options) : problem_(p), options_(std::move(options)) {}
  [[nodiscard]] result<void> find_compiler();
  [[nodiscard]] result<void> build_trusted_code();
  [[nodiscard]] result<void> load_trusted_code();
  [[nodiscard]] result<void> find_permitted_libraries();
  [[nodiscard]] result<void> build_references();
  [[nodiscard]] result<void> build_baselines();
  [[nodiscard]] result<trusted_kernel> build_trusted(std::string name, const std::string& source, const std::string& origin,
                                                     const std::vector<std::string>& extra_flags = {},
                                                     const std::vector<std::string>& link_flags = {});
  [[nodiscard]] result<void> fill_inputs(test_case& c, cpp::kernel_buffers* host, bool with_rare_large);
  [[nodiscard]] result<void> compute_on_host(test_case& c, cpp::kernel_buffers& host);
  [[nodiscard]] result<void> compute_on_device(const std::string& what, device_buffers& set, double* wall_ns = nullptr);
  /// Empty where they agree; else in what they don't.
  [[nodiscard]] result<std::string> hold_references_together(const test_case& c);
  [[nodiscard]] result<void> check_reference_against_itself(workload_state& w);
  [[nodiscard]] result<edge_case*> add_edge(std::vector<std::unique_ptr<edge_case>>& to, std::string what,
                                            const std::vector<std::int64_t>& axes, content kind, std::uint64_t seed,
                                            bool with_rare_large = false);

  problem problem_;
  evaluator_options options_;
  std::shared_ptr<device> device_;
  std::unique_ptr<trusted_kernels> trusted_;
  std::filesystem::path trusted_code_;
  std::shared_ptr<const candidate_language> language_;
  std::optional<toolchain> toolchain_;
  kernel_clock clock_;
  std::deque<harness::vacant_runner> vacant_;
  std::size_t runner_bytes_ = 0;
  mutable std::mutex build_mutex_;
  double build_s_ = 0;
  std::uint64_t entropy_calls_ = 0;
  std::unique_ptr<host_reference> host_reference_;
  std::optional<trusted_kernel> reference_;
  std::vector<trusted_kernel> baselines_;
  champion_kernel champion_;
  std::vector<std::unique_ptr<workload_state>> workloads_;
  std::vector<std::vector<std::int64_t>> proposed_;
  bool proposed_known_ = false, contents_made_ = false;
  std::size_t shapes_made_ = 0, edges_made_ = 0;
  std::vector<std::unique_ptr<edge_case>> shapes_, contents_, hidden_, left_out_;
};

/// Refuses a problem that a kernel which computes nothing would pass; after the baselines were measured.
[[nodiscard]] result<void> check_null_candidates(workbench& bench);

}  // namespace kernsmith::cuda
