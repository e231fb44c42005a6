#include "backends/external/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "backends/cpp/edge_cases.hpp"
#include "backends/cpp/reference_source.hpp"
#include "backends/cpp/work_model.hpp"
#include "backends/cpp/workbench.hpp"
#include "backends/external/c_source.hpp"
#include "backends/external/workload_counting.hpp"

namespace kernsmith::external {

using cpp::check_result;
using harness::effort;

namespace {

constexpr std::size_t first_shapes = 1;  // before anything larger is tried
constexpr std::size_t search_shapes = 3;
constexpr std::size_t all_shapes = 100;
/// A naive kernel's error may be this many budgets before the problem is refused.
constexpr double hopeless_error = 25;
constexpr std::size_t max_knowledge_entries = 16;
constexpr double rounding_multiple = 4;  // a few units in the last place are any kernel's right

/// Entries of the target's knowledge folder: its markdown files by name, without the suffix.
std::vector<std::string> knowledge_ids(const std::filesystem::path& folder) {
  std::vector<std::string> ids;
  std::error_code failed;
  if (folder.empty()) return ids;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".md" && ids.size() < max_knowledge_entries) ids.push_back(entry.path().stem().string());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A kernel built for the target that is trusted to be right.
struct device_baseline {
  std::string name;
  harness::built_kernel built;
  std::vector<std::vector<double>> counts;  ///< by workload: everything counted in this session
};

class external_evaluator final : public harness::evaluator {
 public:
  external_evaluator(std::unique_ptr<cpp::workbench> bench, target_commands commands, problem declared)
      : bench_(std::move(bench)),
        edges_(*bench_),
        commands_(std::move(commands)),
        runs_(*bench_, commands_),
        declared_(std::move(declared)) {}
  result<void> admit();

  result<harness::built_kernel> build(const std::string& source) override;
  result<memory::evaluation> evaluate(const harness::built_kernel& kernel, effort how) override;
  std::vector<memory::baseline_timing> baselines() override;
  result<memory::control_result> control() override;
  [[nodiscard]] memory::fingerprint machine() const override { return fingerprint_; }
  [[nodiscard]] memory::cost spent() const override { return {build_s_.load() + bench_->build_s(), kernel_s(), own_s_}; }
  std::string samples_json() override { return samples_.dump(2); }

 private:
  [[nodiscard]] const external_target& target() const { return commands_.target(); }
  [[nodiscard]] const problem& subject() const { return bench_->subject(); }
  [[nodiscard]] double kernel_s() const { return runs_.spent_s() + bench_->clock().kernel_s; }
  [[nodiscard]] result<std::string> baseline_source(const baseline_spec& spec) const;
  result<void> build_baselines();
  result<void> admit_workload(std::size_t w);
  void state_precision_limit(cpp::workload_state& w, double baseline_error) const;
  [[nodiscard]] result<void> check_machine(bool unexplained);
  [[nodiscard]] std::vector<device_call> twice(const std::vector<cpp::edge_case*>& cases);
  result<bool> took_calls(const harness::built_kernel& kernel, const std::vector<device_call>& calls, memory::evaluation& e);
  bool took_failure(const check_result& check, memory::evaluation& e) const;
  result<void> verify(const harness::built_kernel& kernel, effort how, memory::evaluation& e);
  result<void> measure(const harness::built_kernel& kernel, effort how, memory::evaluation& e);
  [[nodiscard]] memory::workload_timing timing_on(std::size_t w, const workload_count& counted);
  [[nodiscard]] double floor_of(std::size_t w) const;
  void note_samples(const memory::workload_timing& timing, const workload_count& counted);
  void diagnose(const harness::built_kernel& kernel, std::size_t w, std::map<std::string, double> counters, memory::evaluation& e);

  std::unique_ptr<cpp::workbench> bench_;  ///< of this host: reference, cases, what must come out
  cpp::edge_cases edges_;
  target_commands commands_;
  device_runs runs_;
  problem declared_;  ///< with the baselines that the user asked for
  std::vector<device_baseline> baselines_;
  std::vector<std::unique_ptr<workload_counting>> counting_;  ///< by workload
  memory::fingerprint fingerprint_;
  nlohmann::json samples_ = nlohmann::json::object();
  std::string control_verdict_;
  std::atomic<double> build_s_{0};
  double own_s_ = 0;
};

result<harness::built_kernel> external_evaluator::build(const std::string& source) {
  auto built = commands_.build(source, bench_->options().build_timeout_s);
  if (built && !built->from_cache) build_s_.fetch_add(built->build_s);
  return built;
}

result<std::string> external_evaluator::baseline_source(const baseline_spec& spec) const {
  const std::string language = name_of(target().language);
  if (spec.source) {
    if (spec.source->language == language) return spec.source->text;
    return fail(fault::bad_request, fmt::format("{}: baseline '{}' is written in {}, and target {} takes {}", declared_.path.string(),
                                                spec.name, spec.source->language, target().name, language));
  }
  if (spec.builtin != "naive") {
    return fail(fault::bad_request,
                fmt::format("{}: builtin baseline \"{}\" is not available for target {}; \"naive\" and sources in {} are",
                            declared_.path.string(), spec.builtin, target().name, language));
  }
  return target().language == target_language::c ? naive_c_source(declared_) : cpp::naive_source(declared_);
}

result<void> external_evaluator::build_baselines() {
  for (const baseline_spec& spec : declared_.baselines) {
    auto source = baseline_source(spec);
    if (!source) return tl::unexpected(source.error());
    auto built = build(*source);
    if (!built) return tl::unexpected(built.error());
    if (!built->outcome.empty()) {
      return fail(fault::bad_request,
                  fmt::format("baseline '{}' does not build for target {} ({}: {}); the target's own commands are in {}\n{}", spec.name,
                              target().name, built->outcome, built->detail, target().path.string(), built->log));
    }
    baselines_.push_back({spec.name, std::move(*built), std::vector<std::vector<double>>(bench_->workloads().size())});
  }
  return {};
}

/// Nothing below the stated precision inside the kernel: the error may not exceed a multiple of the baseline's own, nor of what storing the
/// exact answer costs.
void external_evaluator::state_precision_limit(cpp::workload_state& w, double baseline_error) const {
  const problem& p = subject();
  if (!p.precision.written || bench_->expected_form() != harness::expected_form::wide) return;
  double rounding = 0;
  const std::vector<int> outputs = p.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const dtype type = p.tensors[static_cast<std::size_t>(outputs[o])].type;
    const compare_spec& spec = w.main.specs[o];
    if (!is_float(type) || spec.mode != compare_mode::allclose) return;
    const dtype coarser = unit_roundoff(type) > unit_roundoff(p.precision.lowest) ? type : p.precision.lowest;
    rounding = std::max(rounding, unit_roundoff(coarser) / std::max(spec.rtol, unit_roundoff(coarser)));
  }
  w.main.precision_limit = std::max(p.precision.error_multiple, 1.0) * std::max(baseline_error, rounding_multiple * rounding);
}

result<void> external_evaluator::admit_workload(std::size_t w) {
  cpp::workload_state& state = *bench_->workloads()[w];
  double first_error = 0;
  for (std::size_t b = 0; b < baselines_.size(); ++b) {
    auto ran = runs_.run(baselines_[b].built, {{&state.main, harness::poison::not_a_number()}});
    if (!ran) return tl::unexpected(ran.error());
    const bool hopeless = !ran->check.ok() && (ran->check.outcome != "wrong_values" || ran->check.max_error > hopeless_error);
    if (hopeless || ran->counts.empty()) {
      const std::string why = ran->check.ok() ? fmt::format("the run reports no counter '{}'", target().objective.counter)
                                              : ran->check.outcome + ": " + ran->check.detail;
      return fail(fault::bad_request, fmt::format("{}: baseline '{}' on target {} fails on {}: {}", declared_.path.string(),
                                                  baselines_[b].name, target().name, state.main.what, why));
    }
    if (b == 0) first_error = ran->check.max_error;
    baselines_[b].counts[w].push_back(ran->counts.front());
  }
  state_precision_limit(state, first_error);
  return {};
}

result<void> external_evaluator::admit() {
  const double began_s = now_s();
  fingerprint_.device = target().device.name;
  fingerprint_.isa = target().name;
  fingerprint_.driver = commands_.driver();
  fingerprint_.compiler = commands_.compiler();
  fingerprint_.flags = fmt::format("{} {}", target().path.filename().string(), target().hash);
  fingerprint_.os = bench_->facts().os;
  fingerprint_.cores = 1;
  fingerprint_.clocks = target().objective.deterministic ? "counted" : "unknown";
  if (auto done = cpp::check_null_candidates(*bench_); !done) return done;
  if (auto done = build_baselines(); !done) return done;
  for (std::size_t w = 0; w < bench_->workloads().size(); ++w) {
    counting_.push_back(std::make_unique<workload_counting>(*bench_, runs_, target().objective, *bench_->workloads()[w]));
    if (auto done = admit_workload(w); !done) return done;
  }
  const memory::cost so_far = spent();
  own_s_ += std::max(0.0, now_s() - began_s - so_far.build_s - so_far.kernel_s);
  return {};
}

/// A run that broke down without a word may be the machine's fault: then the baseline breaks down as well.
result<void> external_evaluator::check_machine(bool unexplained) {
  if (!unexplained) return {};
  auto again = runs_.run(baselines_.front().built, {{&bench_->workloads().front()->main, harness::poison::not_a_number()}});
  if (!again) return tl::unexpected(again.error());
  if (!again->unexplained) return {};
  return fail(fault::infrastructure,
              fmt::format("target {} does not run kernels any more, not even its baseline: {}", target().name, again->check.detail));
}

bool external_evaluator::took_failure(const check_result& check, memory::evaluation& e) const {
  e.verification.max_error = std::max(e.verification.max_error, check.max_error);
  if (check.ok()) return false;
  e.outcome = check.outcome;
  e.detail = check.detail;
  e.rule = check.rule;
  e.verification.first_failure = check.detail;
  return true;
}

result<bool> external_evaluator::took_calls(const harness::built_kernel& kernel, const std::vector<device_call>& calls,
                                            memory::evaluation& e) {
  auto ran = runs_.run(kernel, calls);
  if (!ran) return tl::unexpected(ran.error());
  if (auto well = check_machine(ran->unexplained); !well) return tl::unexpected(well.error());
  if (took_failure(ran->check, e)) return false;
  e.verification.cases += static_cast<std::int64_t>(calls.size());
  return true;
}

/// Each case under two poisons.
std::vector<device_call> external_evaluator::twice(const std::vector<cpp::edge_case*>& cases) {
  std::vector<device_call> calls;
  for (const cpp::edge_case* edge : cases) {
    calls.push_back({&edge->c, harness::poison::not_a_number()});
    calls.push_back({&edge->c, harness::poison::finite(bench_->entropy())});
  }
  return calls;
}

/// The smallest shape first; then everything else in an order that no kernel can foresee.
result<void> external_evaluator::verify(const harness::built_kernel& kernel, effort how, memory::evaluation& e) {
  auto shapes = edges_.shapes(how == effort::final ? all_shapes : how == effort::search ? search_shapes : first_shapes);
  if (!shapes) return tl::unexpected(shapes.error());
  if (!shapes->empty()) {
    auto right = took_calls(kernel, twice({shapes->front()}), e);
    if (!right || !*right) return right ? result<void>() : tl::unexpected(right.error());
    shapes->erase(shapes->begin());
  }
  std::vector<device_call> calls = twice(*shapes);
  for (const auto& w : bench_->workloads()) {
    calls.push_back({&w->main, harness::poison::not_a_number()});
    if (how == effort::quick) break;
    if (how == effort::final) calls.push_back({&w->main, harness::poison::finite(bench_->entropy())});
  }
  if (how == effort::final) {
    auto contents = edges_.contents();
    if (!contents) return tl::unexpected(contents.error());
    auto hidden = edges_.hidden(bench_->entropy());
    if (!hidden) return tl::unexpected(hidden.error());
    if (*hidden != nullptr) contents->push_back(*hidden);
    const std::vector<device_call> more = twice(*contents);
    calls.insert(calls.end(), more.begin(), more.end());
  }
  std::shuffle(calls.begin(), calls.end(), std::mt19937_64(bench_->entropy()));
  auto right = took_calls(kernel, calls, e);
  return right ? result<void>() : tl::unexpected(right.error());
}

double external_evaluator::floor_of(std::size_t w) const {
  const cpp::workload_work work = cpp::work_of(subject(), bench_->workloads()[w]->main.axes);
  const external_device& peaks = target().device;
  const double by_bytes = peaks.bytes_per_unit > 0 ? work.compulsory_bytes / peaks.bytes_per_unit : 0;
  const double by_operations = peaks.operations_per_unit > 0 ? work.contraction_flops / peaks.operations_per_unit : 0;
  return std::max(by_bytes, by_operations);
}

void external_evaluator::diagnose(const harness::built_kernel& kernel, std::size_t w, std::map<std::string, double> counters,
                                  memory::evaluation& e) {
  const cpp::workload_work work = cpp::work_of(subject(), bench_->workloads()[w]->main.axes);
  const external_device& peaks = target().device;
  const double measured = e.workloads[w].median_ns;
  memory::diagnosis& d = e.diagnosis;
  d.signals = std::move(counters);
  for (const auto& [name, value] : runs_.profile(kernel, {&bench_->workloads()[w]->main, harness::poison::not_a_number()}))
    d.signals[name] = value;
  d.signals["bytes"] = work.bytes;
  d.signals["flops"] = work.flops;
  const double by_bytes = peaks.bytes_per_unit > 0 ? work.bytes / peaks.bytes_per_unit / measured : 0;
  const double by_operations = peaks.operations_per_unit > 0 ? work.flops / peaks.operations_per_unit / measured : 0;
  d.signals["memory_fraction"] = by_bytes;
  d.signals["compute_fraction"] = by_operations;
  d.roofline_fraction = std::min(1.0, std::max(by_bytes, by_operations));
  d.knowledge = knowledge_ids(target().knowledge);
  d.bottleneck = d.roofline_fraction <= 0 ? "unknown" : by_bytes >= by_operations ? "memory" : "compute";
}

memory::workload_timing external_evaluator::timing_on(std::size_t w, const workload_count& counted) {
  std::vector<double> candidate, baseline;
  for (const harness::timing_block& block : counted.blocks) {
    candidate.insert(candidate.end(), block.candidate_ns.begin(), block.candidate_ns.end());
    baseline.insert(baseline.end(), block.baseline_ns.begin(), block.baseline_ns.end());
  }
  std::vector<double>& known = baselines_.front().counts[w];
  known.insert(known.end(), baseline.begin(), baseline.end());
  memory::workload_timing timing = timing_of(candidate, baseline, counted.ratio, target().objective.deterministic, bench_->options().seed);
  timing.axes = bench_->workloads()[w]->axis_names;
  timing.weight = bench_->workloads()[w]->weight;
  timing.floor_ns = floor_of(w);
  return timing;
}

void external_evaluator::note_samples(const memory::workload_timing& timing, const workload_count& counted) {
  nlohmann::json blocks = nlohmann::json::array();
  for (const harness::timing_block& block : counted.blocks)
    blocks.push_back({{"launch", block.launch}, {"candidate", block.candidate_ns}, {"baseline", block.baseline_ns}});
  samples_["workloads"].push_back({{"axes", timing.axes},
                                   {"stopping_rule", target().objective.deterministic ? "exact counts" : "fixed number of blocks"},
                                   {"interleaved", true},
                                   {"blocks", std::move(blocks)}});
}

result<void> external_evaluator::measure(const harness::built_kernel& kernel, effort how, memory::evaluation& e) {
  const std::size_t count = how == effort::quick ? 1 : counting_.size();
  const std::string& unit = target().objective.unit;
  samples_ = {{"schema", "kernsmith.samples/1"},
              {"unit", fmt::format("{} per call, as the target's runs report them", unit)},
              {"workloads", nlohmann::json::array()}};
  std::vector<harness::weighted_ratio> ratios;
  std::size_t longest = 0;
  std::map<std::string, double> counters;
  for (std::size_t w = 0; w < count; ++w) {
    auto counted = counting_[w]->measure(kernel, baselines_.front().built, how);
    if (!counted) return tl::unexpected(counted.error());
    if (auto well = check_machine(counted->unexplained); !well) return well;
    e.verification.timed_outputs += counted->checked;
    if (took_failure(counted->failure, e)) return {};
    const memory::workload_timing timing = timing_on(w, *counted);
    note_samples(timing, *counted);
    if (timing.median_ns < timing.floor_ns) {
      e.outcome = "impossible_speed";
      e.detail = fmt::format("{}: {:.0f} {} where this device needs at least {:.0f} to move the bytes and do the arithmetic",
                             bench_->workloads()[w]->main.what, timing.median_ns, unit, timing.floor_ns);
      return {};
    }
    e.workloads.push_back(timing);
    ratios.push_back({counted->ratio, timing.weight});
    e.timing.wall_ns += timing.median_ns;
    if (w == 0 || timing.median_ns > e.workloads[longest].median_ns) {
      longest = w;
      counters = std::move(counted->counters);
    }
  }
  const harness::ratio_estimate whole = harness::combine_ratios(ratios);
  e.outcome = "passed";
  e.speedup = whole.ratio;
  e.ci95 = {whole.ci95.low, whole.ci95.high};
  e.timing.status = how == effort::quick ? "quick" : "measured";
  e.timing.control = control_verdict_;
  if (how != effort::quick && !control_verdict_.empty() && control_verdict_ != "no_difference") e.timing.status = "unproven";
  diagnose(kernel, longest, std::move(counters), e);
  return {};
}

result<memory::evaluation> external_evaluator::evaluate(const harness::built_kernel& kernel, effort how) {
  const double began_s = now_s(), ran_before_s = kernel_s();
  memory::evaluation e;
  e.stage = "build";
  e.fingerprint = fingerprint_;
  e.machine_code = kernel.machine_code;
  e.metric = target().objective.counter;
  e.unit = target().objective.unit;
  samples_ = nlohmann::json::object();
  if (!kernel.outcome.empty()) {
    e.outcome = kernel.outcome;
    e.detail = kernel.detail;
  } else {
    e.stage = "verify";
    if (auto verified = verify(kernel, how, e); !verified) return tl::unexpected(verified.error());
    if (e.outcome.empty()) {
      e.stage = how == effort::quick ? "quick" : "measure";
      if (auto measured = measure(kernel, how, e); !measured) return tl::unexpected(measured.error());
    }
  }
  const double ran_s = kernel_s() - ran_before_s;
  e.cost = {kernel.build_s, ran_s, std::max(0.0, now_s() - began_s - ran_s)};
  own_s_ += e.cost.own_s;
  return e;
}

std::vector<memory::baseline_timing> external_evaluator::baselines() {
  std::vector<memory::baseline_timing> all;
  for (std::size_t b = 0; b < baselines_.size(); ++b) {
    memory::baseline_timing& timing = all.emplace_back();
    timing.name = baselines_[b].name;
    timing.metric = target().objective.counter;
    timing.unit = target().objective.unit;
    for (std::size_t w = 0; w < counting_.size(); ++w) {
      const std::vector<double>& counts = baselines_[b].counts[w];
      memory::workload_timing t = timing_of(counts, counts, {}, target().objective.deterministic, bench_->options().seed);
      t.axes = bench_->workloads()[w]->axis_names;
      t.weight = bench_->workloads()[w]->weight;
      timing.workloads.push_back(std::move(t));
    }
  }
  return all;
}

/// The baseline in the candidate's place, on the first workload.
result<memory::control_result> external_evaluator::control() {
  const harness::built_kernel& baseline = baselines_.front().built;
  auto counted = counting_.front()->measure(baseline, baseline, effort::search);
  if (!counted) return tl::unexpected(counted.error());
  if (!counted->failure.ok()) return fail(fault::infrastructure, "the baseline disagrees with itself: " + counted->failure.detail);
  control_verdict_ = harness::name_of(counted->ratio.decision);
  return memory::control_result{control_verdict_, counted->ratio.ratio, {counted->ratio.ci95.low, counted->ratio.ci95.high}};
}

/// The host's own evaluation needs a baseline that this host can run: the problem's meaning, without those for the device.
[[nodiscard]] problem for_this_host(const problem& p) {
  problem host = p;
  host.baselines = {p.reference ? baseline_spec{"reference", "", p.reference} : baseline_spec{"naive", "naive", std::nullopt}};
  return host;
}

}  // namespace

result<std::unique_ptr<harness::evaluator>> open_evaluator(const external_target& target, const problem& p,
                                                           const harness::evaluator_options& options) {
  auto commands = target_commands::open(target, options.cache);
  if (!commands) return tl::unexpected(commands.error());
  auto bench = cpp::workbench::open(for_this_host(p), options);
  if (!bench) return tl::unexpected(bench.error());
  auto made = std::make_unique<external_evaluator>(std::move(*bench), std::move(*commands), p);
  if (auto admitted = made->admit(); !admitted) return tl::unexpected(admitted.error());
  return std::unique_ptr<harness::evaluator>(std::move(made));
}

}  // namespace kernsmith::external
