#include "backends/cuda/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "backends/cpp/machine_facts.hpp"
#include "backends/cpp/work_model.hpp"
#include "backends/cuda/candidate_checks.hpp"
#include "backends/cuda/device_peaks.hpp"
#include "backends/cuda/ptxas_report.hpp"
#include "backends/cuda/samples.hpp"
#include "backends/cuda/strict_checks.hpp"
#include "backends/cuda/workload_timing.hpp"
#include "backends/harness/device_lease.hpp"
#include "backends/harness/hosted_kernels.hpp"

namespace kernsmith::cuda {

namespace {

constexpr double control_kernel_s = 1;
/// More launches while the 95 % interval is wider, relative: half of what "no difference" may be.
constexpr double control_width = 0.05;
constexpr int control_blocks = 3, control_launches = 6;  // processes differ a little; one launch would take that for a difference
/// Matrix units multiply this many times faster than the measured plain f32 rate, narrow types included; work_model's own margin comes on
/// top.
constexpr double matrix_unit_margin = 4;
/// What failed by nobody's doing is tried once more before it is reported.
constexpr int infrastructure_retries = 1;
/// What others may need for one piece of work: a strict final evaluation, a profile, the opening of a large problem.
constexpr double lease_patience_s = 1800;
/// Going away matters less than others' timings, but not for ever.
constexpr double farewell_patience_s = 30;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// One candidate at a time on the device, in whatever process of this machine.
result<harness::device_lease> hold_device(const std::string& uuid, const evaluator_options& options, double patience_s) {
  harness::lease_terms terms;
  terms.stop = options.stop;
  terms.patience_s = patience_s;
  return harness::device_lease::acquire(uuid, terms);
}

class stopwatch {
 public:
  explicit stopwatch(const kernel_clock& clock) : clock_(clock), kernel_began_s_(clock.kernel_s), began_s_(now_s()) {}
  [[nodiscard]] memory::cost cost(double build_s = 0) const {
    const double kernel_s = clock_.kernel_s - kernel_began_s_;
    return {build_s, kernel_s, std::max(0.0, now_s() - began_s_ - kernel_s)};
  }

 private:
  const kernel_clock& clock_;
  double kernel_began_s_, began_s_;
};

class device_evaluator final : public evaluator {
 public:
  explicit device_evaluator(std::unique_ptr<workbench> bench) : bench_(std::move(bench)), checks_(*bench_), strict_(*bench_) {}
  /// Device memory is given back in the context that it was taken in, whatever thread this happens on.
  ~device_evaluator() override {
    const auto hold = hold_device(bench_->on()->description().uuid, bench_->options(), farewell_patience_s);
    (void)bench_->on()->make_current();
    bench_.reset();
  }
  result<void> admit();

  result<built_kernel> build(const std::string& source) override { return bench_->build_candidate(source); }
  result<memory::evaluation> evaluate(const built_kernel& kernel, effort how) override;
  std::vector<memory::baseline_timing> baselines() override;
  result<memory::control_result> control() override;
  [[nodiscard]] memory::fingerprint machine() const override { return fingerprint_; }
  [[nodiscard]] memory::device_facts device() const override { return bench_->on()->description().facts; }
  [[nodiscard]] memory::cost spent() const override { return {bench_->build_s(), bench_->clock().kernel_s, own_s_}; }
  std::string samples_json() override { return samples_.dump(2); }
  void count_own(double own_s) { own_s_ += own_s; }
  void settle() { bench_->settle_runners(); }

 private:
  result<void> take_peaks();
  [[nodiscard]] result<memory::control_result> compare_baseline_with_itself();
  [[nodiscard]] double floor_of(const cpp::workload_work& work) const;
  result<memory::evaluation> evaluate_on_device(const built_kernel& kernel, effort how);
  result<void> measure(const built_kernel& kernel, kernel_process& process, effort how, memory::evaluation& e);
  void finish_measured(const built_kernel& kernel, effort how, const std::vector<workload_measurement>& measured, memory::evaluation& e);
  void state_precision_limit(workload_state& w);
  [[nodiscard]] result<void> probe_health();
  [[nodiscard]] error out_of_order(const std::string& why) const;

  std::unique_ptr<workbench> bench_;
  candidate_checks checks_;
  strict_checks strict_;
  memory::fingerprint fingerprint_;
  cpp::machine_peaks peaks_;
  std::vector<cpp::workload_work> work_;
  std::vector<double> best_ratios_;
  double best_speedup_ = 0;
  std::string control_verdict_;
  nlohmann::json samples_ = nlohmann::json::object();
  double own_s_ = 0;
};

double device_evaluator::floor_of(const cpp::workload_work& work) const {
  cpp::machine_peaks with_matrix_units = peaks_;
  with_matrix_units.gflop_per_s *= matrix_unit_margin;
  return cpp::floor_ns(work, with_matrix_units, static_cast<std::int64_t>(bench_->on()->l2_bytes()));
}

result<void> device_evaluator::take_peaks() {
  auto peaks = measure_device_peaks(bench_->on(), bench_->trusted());
  if (!peaks) return tl::unexpected(peaks.error());
  peaks_.copy_gb_per_s = std::max(peaks_.copy_gb_per_s, peaks->copy_gb_per_s);
  peaks_.cache_gb_per_s = std::max(peaks_.cache_gb_per_s, peaks->cache_gb_per_s);
  peaks_.gflop_per_s = std::max(peaks_.gflop_per_s, peaks->gflop_per_s);
  fingerprint_.copy_gb_per_s = peaks_.copy_gb_per_s;
  fingerprint_.peak_gflop_per_s = peaks_.gflop_per_s;
  for (cpp::workload_work& work : work_) work.floor_ns = floor_of(work);
  return {};
}

result<void> device_evaluator::admit() {
  const device_description& d = bench_->on()->description();
  const device_state state = device_monitor::of(d.uuid).look();
  fingerprint_ = {d.name,
                  d.architecture,
                  d.driver,
                  bench_->compiler().compiler(),
                  bench_->compiler().flags(),
                  cpp::read_machine_facts().os,
                  d.facts.multiprocessors,
                  state.known ? fmt::format("as found, {} MHz at most", d.facts.clock_khz / 1000) : "unknown",
                  0,
                  0};
  for (const baseline_spec& spec : bench_->subject().baselines) {
    if (bench_->options().hosted && harness::is_hosted(spec)) fingerprint_.flags += "; " + bench_->options().hosted->describe(spec, true);
  }
  if (bench_->options().strict) {
    if (auto ready = strict_.prepare(); !ready) return ready;
  }
  if (auto taken = take_peaks(); !taken) return taken;
  for (const auto& w : bench_->workloads()) {
    if (auto done = measure_baselines(*bench_, *w); !done) return done;
    state_precision_limit(*w);
    work_.push_back(cpp::work_of(bench_->subject(), w->main.axes));
    work_.back().floor_ns = floor_of(work_.back());
  }
  if (auto done = check_null_candidates(*bench_); !done) return done;
  return bench_->weigh_runner();
}

/// Nothing below the stated precision inside the kernel: the error may not exceed a multiple of the baseline's own, nor of what storing the
/// exact answer costs.
void device_evaluator::state_precision_limit(workload_state& w) {
  const problem& p = bench_->subject();
  if (!p.precision.written || w.main.form != harness::expected_form::wide) return;
  constexpr double rounding_multiple = 4;  // a few units in the last place are any kernel's right
  double rounding = 0;
  const std::vector<int> outputs = p.outputs();
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const dtype type = p.tensors[static_cast<std::size_t>(outputs[o])].type;
    const compare_spec& spec = w.main.specs[o];
    if (!is_float(type) || spec.mode != compare_mode::allclose) return;
    const dtype coarser = unit_roundoff(type) > unit_roundoff(p.precision.lowest) ? type : p.precision.lowest;
    rounding = std::max(rounding, unit_roundoff(coarser) / std::max(spec.rtol, unit_roundoff(coarser)));
  }
  w.main.precision_limit = std::max(p.precision.error_multiple, 1.0) * std::max(w.baselines.front().error, rounding_multiple * rounding);
}

/// Nothing more can be measured by this process: the session has to stop, which keeps everything.
error device_evaluator::out_of_order(const std::string& why) const {
  return {fault::missing_here, fmt::format("{} ({}) is out of order and takes no more work: {}; look after the device (nvidia-smi, the "
                                           "system's log for Xid messages), then start again",
                                           bench_->on()->description().uuid, bench_->on()->description().name, why)};
}

/// After a candidate has ended badly, or something has failed: does the device still work for others?
result<void> device_evaluator::probe_health() {
  if (auto well = bench_->trusted().noop(); !well) return tl::unexpected(out_of_order(well.error().message));
  return {};
}

result<void> device_evaluator::measure(const built_kernel& kernel, kernel_process& process, effort how, memory::evaluation& e) {
  const std::size_t count = how == effort::quick ? 1 : bench_->workloads().size();
  const timing_limits limits = limits_for(how, count);
  std::vector<workload_measurement> measured;
  bench_->settle_runners();
  for (std::size_t i = 0; i < count; ++i) {
    const double best = i < best_ratios_.size() ? best_ratios_[i] : 0;
    const auto relaunch = [&] { return bench_->start(kernel.library, false); };
    // Nobody is checked against himself.
    const bool by_champion = !bench_->champion().empty() && bench_->champion() != kernel.library;
    auto m = measure_workload(*bench_, *bench_->workloads()[i], process, relaunch, limits, best, by_champion);
    if (!m && by_champion && bench_->champion().empty()) {
      auto fresh = relaunch();
      if (!fresh) return tl::unexpected(fresh.error());
      process = std::move(*fresh);
      m = measure_workload(*bench_, *bench_->workloads()[i], process, relaunch, limits, best, false);
    }
    if (!m) return tl::unexpected(m.error());
    e.verification.timed_outputs += m->checked;
    if (candidate_checks::took_failure(m->failure, e)) return {};
    // Before anything is called impossible, the device is measured again.
    if (m->timing.median_ns < work_[i].floor_ns) {
      if (auto taken = take_peaks(); !taken) return taken;
    }
    m->timing.floor_ns = work_[i].floor_ns;
    if (m->timing.median_ns < work_[i].floor_ns) {
      e.outcome = "impossible_speed";
      e.detail = fmt::format("{}: {:.0f} ns where this device needs at least {:.0f} ns to move the bytes and do the arithmetic",
                             bench_->workloads()[i]->main.what, m->timing.median_ns, work_[i].floor_ns);
      return {};
    }
    measured.push_back(std::move(*m));
  }
  // Once more: a kernel that behaved while it was verified may be another when it is timed.
  auto conduct = checks_.conduct(process, kernel);
  if (!conduct) return tl::unexpected(conduct.error());
  if (candidate_checks::took_failure(*conduct, e)) return {};
  if (how == effort::final) {
    if (auto counted = count_device_time(*bench_, process, measured); !counted) return counted;
  }
  finish_measured(kernel, how, measured, e);
  return {};
}

void device_evaluator::finish_measured(const built_kernel& kernel, effort how, const std::vector<workload_measurement>& measured,
                                       memory::evaluation& e) {
  std::vector<harness::weighted_ratio> ratios;
  std::vector<double> per_workload;
  std::size_t longest = 0;
  bool disagree = false;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    e.workloads.push_back(measured[i].timing);
    ratios.push_back({measured[i].ratio, measured[i].timing.weight});
    per_workload.push_back(measured[i].ratio.ratio);
    e.timing.wall_ns += measured[i].timing.median_ns;
    e.timing.event_ns += measured[i].event_ns;
    e.timing.device_ns += measured[i].device_ns;
    disagree = disagree || accounts_disagree(measured[i]);
    if (measured[i].timing.median_ns > measured[longest].timing.median_ns) longest = i;
  }
  const harness::ratio_estimate whole = harness::combine_ratios(ratios);
  e.outcome = "passed";
  e.speedup = whole.ratio;
  e.ci95 = {whole.ci95.low, whole.ci95.high};
  e.timing.status = how == effort::quick ? "quick" : "measured";
  e.timing.control = control_verdict_;
  if (how != effort::quick && !control_verdict_.empty() && control_verdict_ != "no_difference") e.timing.status = "unproven";
  if (disagree) e.timing.status = "unproven";
  e.diagnosis =
      cpp::diagnose(work_[longest], measured[longest].timing.median_ns, peaks_, static_cast<std::int64_t>(bench_->on()->l2_bytes()));
  // Products may run on matrix units. The rate of the ordinary ones, which was measured, is no bound for them: the memory's is.
  if (work_[longest].sums_products) e.diagnosis.roofline_fraction = e.diagnosis.signals["memory_fraction"];
  const kernel_resources most = largest_resources(parse_ptxas_report(kernel.log));
  e.diagnosis.signals["registers"] = static_cast<double>(most.registers);
  e.diagnosis.signals["spill_bytes"] = static_cast<double>(most.spill_store_bytes + most.spill_load_bytes);
  e.diagnosis.signals["stack_bytes"] = static_cast<double>(most.stack_bytes);
  e.diagnosis.signals["static_shared_bytes"] = static_cast<double>(most.static_shared_bytes);
  if (bench_->language() != nullptr) {
    for (const auto& [name, value] : bench_->language()->signals(kernel)) e.diagnosis.signals[name] = value;
  }
  const bool best = how != effort::quick && e.speedup > best_speedup_;
  if (best || (how != effort::quick && bench_->champion().empty())) bench_->name_champion(kernel.library);
  if (best) {
    best_speedup_ = e.speedup;
    best_ratios_ = per_workload;
  }
  samples_ = samples_of(measured, bench_->subject());
}

result<memory::evaluation> device_evaluator::evaluate(const built_kernel& kernel, effort how) {
  const auto hold = hold_device(bench_->on()->description().uuid, bench_->options(), lease_patience_s);
  if (!hold) return tl::unexpected(hold.error());
  if (auto current = bench_->on()->make_current(); !current) return tl::unexpected(out_of_order(current.error().message));
  const stopwatch watch(bench_->clock());
  result<memory::evaluation> e = evaluate_on_device(kernel, how);
  for (int again = 0; again < infrastructure_retries && !e && e.error().kind == fault::infrastructure; ++again) {
    if (auto well = probe_health(); !well) return tl::unexpected(well.error());
    e = evaluate_on_device(kernel, how);
  }
  bench_->settle_runners();  // one that sets itself up would run into what others time
  if (!e ? e.error().kind == fault::infrastructure : e->outcome != "passed") {
    if (auto well = probe_health(); !well) return tl::unexpected(well.error());
  }
  if (!e) return e;
  e->cost = watch.cost(kernel.build_s);
  own_s_ += e->cost.own_s;
  return e;
}

result<memory::evaluation> device_evaluator::evaluate_on_device(const built_kernel& kernel, effort how) {
  memory::evaluation e;
  e.stage = "build";
  e.fingerprint = fingerprint_;
  e.machine_code = kernel.machine_code;
  samples_ = nlohmann::json::object();
  if (!kernel.outcome.empty()) {
    e.outcome = kernel.outcome;
    e.detail = kernel.detail;
    return e;
  }
  auto process = bench_->start(kernel.library, false);
  if (!process) {
    if (process.error().kind != fault::bad_request) return tl::unexpected(process.error());
    e.outcome = "build_failed";
    e.detail = process.error().message;
    return e;
  }
  e.stage = "verify";
  bench_->begin_runners(1);
  if (auto verified = checks_.verify(*process, how, e); !verified) return tl::unexpected(verified.error());
  if (!e.outcome.empty()) return e;
  auto conduct = checks_.conduct(*process, kernel);
  if (!conduct) return tl::unexpected(conduct.error());
  if (candidate_checks::took_failure(*conduct, e)) return e;
  if (bench_->options().strict && how == effort::final) {
    if (auto examined = strict_.run(kernel, e); !examined) return tl::unexpected(examined.error());
    if (!e.outcome.empty()) return e;
  }
  e.stage = how == effort::quick ? "quick" : "measure";
  if (auto measured = measure(kernel, *process, how, e); !measured) return tl::unexpected(measured.error());
  return e;
}

std::vector<memory::baseline_timing> device_evaluator::baselines() {
  std::vector<memory::baseline_timing> all;
  for (std::size_t b = 0; b < bench_->baselines().size(); ++b) {
    memory::baseline_timing& timing = all.emplace_back();
    timing.name = bench_->baselines()[b].name;
    for (const auto& w : bench_->workloads())
      timing.workloads.push_back(harness::timing_of_baseline(w->axis_names, w->weight, w->baselines[b].blocks_ns));
  }
  return all;
}

/// On the workload whose baseline is quickest.
result<memory::control_result> device_evaluator::control() {
  const auto hold = hold_device(bench_->on()->description().uuid, bench_->options(), lease_patience_s);
  if (!hold) return tl::unexpected(hold.error());
  auto compared = compare_baseline_with_itself();
  bench_->settle_runners();
  if (!compared && compared.error().kind == fault::infrastructure) {
    if (auto well = probe_health(); !well) return tl::unexpected(well.error());
  }
  return compared;
}

result<memory::control_result> device_evaluator::compare_baseline_with_itself() {
  if (auto current = bench_->on()->make_current(); !current) return tl::unexpected(current.error());
  const stopwatch watch(bench_->clock());
  workload_state* quickest = bench_->workloads().front().get();
  for (const auto& w : bench_->workloads()) {
    if (w->baselines.front().call_ns < quickest->baselines.front().call_ns) quickest = w.get();
  }
  trusted_kernel& baseline = bench_->baselines().front();
  const auto again = [&] { return bench_->start(baseline.built.library, true); };
  auto process = again();
  if (!process) return tl::unexpected(process.error());
  timing_limits limits = limits_for(effort::search, 1);
  limits.kernel_s = control_kernel_s;
  limits.slowest_paired_ns = std::numeric_limits<double>::infinity();
  limits.least_blocks = control_blocks;
  limits.launches = {control_launches, 2 * control_launches, control_width};
  limits.stops_early = false;
  auto m = measure_workload(*bench_, *quickest, *process, again, limits, 0, false);
  if (!m) return tl::unexpected(m.error());
  if (!m->failure.ok()) return fail(fault::infrastructure, "the baseline disagrees with itself: " + m->failure.detail);
  control_verdict_ = m->timing.verdict;
  own_s_ += watch.cost().own_s;
  return memory::control_result{control_verdict_, m->ratio.ratio, {m->ratio.ci95.low, m->ratio.ci95.high}};
}

}  // namespace

result<std::string> target_here() {
  auto found = describe_device();
  if (!found) return tl::unexpected(found.error());
  return "cuda/" + found->architecture;
}

result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const evaluator_options& options,
                                                           std::shared_ptr<const candidate_language> language) {
  const auto found = describe_device();
  if (!found) return tl::unexpected(found.error());
  const auto hold = hold_device(found->uuid, options, lease_patience_s);
  if (!hold) return tl::unexpected(hold.error());
  const double began_s = now_s();
  auto bench = workbench::open(p, options, std::move(language));
  if (!bench) return tl::unexpected(bench.error());
  auto made = std::make_unique<device_evaluator>(std::move(*bench));
  if (auto admitted = made->admit(); !admitted) return tl::unexpected(admitted.error());
  const memory::cost spent = made->spent();
  made->settle();
  made->count_own(std::max(0.0, now_s() - began_s - spent.kernel_s - spent.build_s));
  return std::unique_ptr<evaluator>(std::move(made));
}

}  // namespace kernsmith::cuda
