#include "backends/cpp/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "backends/cpp/conduct.hpp"
#include "backends/cpp/edge_cases.hpp"
#include "backends/cpp/machine_peaks.hpp"
#include "backends/cpp/samples.hpp"
#include "backends/cpp/strict_checks.hpp"
#include "backends/cpp/work_model.hpp"
#include "backends/cpp/workbench.hpp"
#include "backends/cpp/workload_timing.hpp"
#include "backends/harness/hosted_kernels.hpp"
#include "backends/harness/permitted_libraries.hpp"
#include "config/hash.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::size_t first_shapes = 1;  // before anything larger is tried
constexpr std::size_t search_shapes = 3;
constexpr std::size_t all_shapes = 100;
constexpr double most_check_timeout_s = 120;
constexpr double check_timeout_factor = 5;  // of the baseline's own time
constexpr double control_call_ns = 50e6;
constexpr double control_kernel_s = 1.5;
constexpr int control_blocks = 3;  // per launch
/// More launches while the 95 % interval is wider, relative: half of what "no difference" may be.
constexpr double control_width = 0.05;
constexpr int control_launches = 6;  // processes differ a little; one launch would take that for a difference

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Wall time of one call into the evaluator, split into kernels and our own.
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

class cpu_evaluator final : public evaluator {
 public:
  explicit cpu_evaluator(std::unique_ptr<workbench> bench) : bench_(std::move(bench)), edges_(*bench_), strict_(*bench_, edges_) {}
  result<void> admit();
  result<void> take_peaks();

  result<built_kernel> build(const std::string& source) override;
  result<memory::evaluation> evaluate(const built_kernel& kernel, effort how) override;
  std::vector<memory::baseline_timing> baselines() override;
  result<memory::control_result> control() override;
  [[nodiscard]] memory::fingerprint machine() const override { return fingerprint_; }
  [[nodiscard]] memory::cost spent() const override { return {bench_->build_s(), bench_->clock().kernel_s, own_s_}; }
  std::string samples_json() override { return samples_.dump(2); }
  void count_own(double own_s) { own_s_ += own_s; }

 private:
  result<void> verify(kernel_process& process, effort how, memory::evaluation& e);
  result<bool> check_edge(kernel_process& process, const edge_case& edge, bool twice, memory::evaluation& e);
  result<bool> check_workload(kernel_process& process, workload_state& w, bool twice, memory::evaluation& e);
  result<void> measure(const built_kernel& kernel, kernel_process& process, effort how, memory::evaluation& e);
  void finish_measured(const built_kernel& kernel, effort how, std::vector<workload_measurement> measured, memory::evaluation& e);
  result<check_result> conduct_of(kernel_process& process, const built_kernel& kernel);
  bool took_failure(const check_result& check, memory::evaluation& e);
  [[nodiscard]] double check_timeout_s(const workload_state& w) const;
  void state_precision_limit(workload_state& w);
  result<workload_state*> workload_for_control();

  std::unique_ptr<workbench> bench_;
  edge_cases edges_;
  strict_checks strict_;
  champion best_;
  memory::fingerprint fingerprint_;
  machine_peaks peaks_;
  std::vector<workload_work> work_;
  std::string control_verdict_;
  std::unique_ptr<workload_state> control_workload_;
  nlohmann::json samples_ = nlohmann::json::object();
  double own_s_ = 0;
};

result<built_kernel> cpu_evaluator::build(const std::string& source) {
  auto built = bench_->build_candidate(source, harness::link_flags_of(bench_->subject(), "cpp"));
  if (built && bench_->options().strict) built->source = source;
  return built;
}

result<void> cpu_evaluator::take_peaks() {
  auto peaks = measure_machine_peaks(*bench_);
  if (!peaks) return tl::unexpected(peaks.error());
  peaks_ = *peaks;
  fingerprint_.copy_gb_per_s = peaks_.copy_gb_per_s;
  fingerprint_.peak_gflop_per_s = peaks_.gflop_per_s;
  for (workload_work& work : work_) work.floor_ns = floor_ns(work, peaks_, bench_->facts().last_level_cache_bytes);
  return {};
}

result<void> cpu_evaluator::admit() {
  if (bench_->options().strict) {
    if (auto ready = strict_.prepare(); !ready) return ready;
  }
  if (auto taken = take_peaks(); !taken) return taken;
  const machine_facts& facts = bench_->facts();
  fingerprint_ = {facts.model, facts.isa,         facts.kernel,   bench_->compiler().compiler(), bench_->compiler().flags(),
                  facts.os,    bench_->threads(), facts.governor, peaks_.copy_gb_per_s,          peaks_.gflop_per_s};
  if (const candidate_language* language = bench_->language()) {
    fingerprint_.compiler = language->compiler();
    fingerprint_.flags = language->flags();
  }
  for (const baseline_spec& spec : bench_->subject().baselines) {
    if (bench_->options().hosted && harness::is_hosted(spec)) fingerprint_.flags += "; " + bench_->options().hosted->describe(spec, false);
  }
  if (auto done = check_null_candidates(*bench_); !done) return done;
  for (const auto& w : bench_->workloads()) {
    if (auto done = measure_baselines(*bench_, *w); !done) return done;
    state_precision_limit(*w);
    work_.push_back(work_of(bench_->subject(), w->main.axes));
    work_.back().floor_ns = floor_ns(work_.back(), peaks_, bench_->facts().last_level_cache_bytes);
  }
  return {};
}

/// Nothing below the stated precision inside the kernel: the error may not exceed a multiple of the baseline's own, nor of what storing the
/// exact answer costs.
void cpu_evaluator::state_precision_limit(workload_state& w) {
  const problem& p = bench_->subject();
  if (!p.precision.written || bench_->expected_form() != harness::expected_form::wide) return;
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
  const double own = std::max(w.baselines.front().error, rounding_multiple * rounding);
  w.main.precision_limit = std::max(p.precision.error_multiple, 1.0) * own;
}

double cpu_evaluator::check_timeout_s(const workload_state& w) const {
  const double baseline_s = w.baselines.front().call_ns * 1e-9;
  const double least_s = bench_->options().call_timeout_s;
  return std::clamp(least_s + check_timeout_factor * baseline_s, least_s, std::max({most_check_timeout_s, least_s, 2 * baseline_s}));
}

result<check_result> cpu_evaluator::conduct_of(kernel_process& process, const built_kernel& kernel) {
  workload_state& w = *bench_->workloads().front();
  return check_conduct(bench_->subject(), bench_->language(), process, kernel.library, *w.timing.candidate.front(), check_timeout_s(w));
}

bool cpu_evaluator::took_failure(const check_result& check, memory::evaluation& e) {
  e.verification.max_error = std::max(e.verification.max_error, check.max_error);
  if (check.ok()) return false;
  e.outcome = check.outcome;
  e.detail = check.detail;
  e.rule = check.rule;
  e.verification.first_failure = check.detail;
  return true;
}

result<bool> cpu_evaluator::check_edge(kernel_process& process, const edge_case& edge, bool twice, memory::evaluation& e) {
  for (int run = 0; run < (twice ? 2 : 1); ++run) {
    const harness::poison pattern = run == 0 ? harness::poison::not_a_number() : harness::poison::finite(bench_->entropy());
    auto check =
        check_kernel(bench_->subject(), edge.c, process, *edge.buffers, pattern, bench_->options().call_timeout_s, bench_->threads());
    if (!check) return tl::unexpected(check.error());
    check->max_error /= edge.c.budget_scale;
    if (took_failure(*check, e)) return false;
  }
  ++e.verification.cases;
  return true;
}

result<bool> cpu_evaluator::check_workload(kernel_process& process, workload_state& w, bool twice, memory::evaluation& e) {
  for (int run = 0; run < (twice ? 2 : 1); ++run) {
    const harness::poison pattern = run == 0 ? harness::poison::not_a_number() : harness::poison::finite(bench_->entropy());
    auto check =
        check_kernel(bench_->subject(), w.main, process, *w.timing.candidate.front(), pattern, check_timeout_s(w), bench_->threads());
    if (!check) return tl::unexpected(check.error());
    if (took_failure(*check, e)) return false;
  }
  ++e.verification.cases;
  return true;
}

/// Small before large, cheap before dear: each stage only for what the one before let through.
result<void> cpu_evaluator::verify(kernel_process& process, effort how, memory::evaluation& e) {
  const auto check_all = [&](const std::vector<edge_case*>& list, std::size_t from) -> result<bool> {
    for (std::size_t i = from; i < list.size(); ++i) {
      auto right = check_edge(process, *list[i], true, e);
      if (!right || !*right) return right;
    }
    return true;
  };
  auto first = edges_.shapes(first_shapes);
  if (!first) return tl::unexpected(first.error());
  if (auto right = check_all(*first, 0); !right || !*right) return right ? result<void>() : tl::unexpected(right.error());
  for (const auto& w : bench_->workloads()) {
    if (bench_->stopped()) return fail(fault::interrupted, "stopped while a candidate was verified");
    auto right = check_workload(process, *w, how == effort::final, e);
    if (!right || !*right) return right ? result<void>() : tl::unexpected(right.error());
    if (how == effort::quick) return {};
  }
  auto more = edges_.shapes(how == effort::final ? all_shapes : search_shapes);
  if (!more) return tl::unexpected(more.error());
  if (auto right = check_all(*more, first->size()); !right || !*right) return right ? result<void>() : tl::unexpected(right.error());
  if (how != effort::final) return {};
  auto contents = edges_.contents();
  if (!contents) return tl::unexpected(contents.error());
  if (auto right = check_all(*contents, 0); !right || !*right) return right ? result<void>() : tl::unexpected(right.error());
  auto hidden = edges_.hidden(bench_->entropy());
  if (!hidden) return tl::unexpected(hidden.error());
  if (*hidden == nullptr) return {};
  auto right = check_edge(process, **hidden, true, e);
  return right ? result<void>() : tl::unexpected(right.error());
}

result<void> cpu_evaluator::measure(const built_kernel& kernel, kernel_process& process, effort how, memory::evaluation& e) {
  const std::size_t count = how == effort::quick ? 1 : bench_->workloads().size();
  const timing_limits limits = limits_for(how, count);
  std::vector<workload_measurement> measured;
  champion nobody;  // a candidate is never checked against itself
  champion& other = kernel.library == best_.library ? nobody : best_;
  for (std::size_t i = 0; i < count; ++i) {
    const double best = i < best_.ratios.size() ? best_.ratios[i] : 0;
    auto m = measure_workload(
        *bench_, *bench_->workloads()[i], process, [&] { return bench_->start(kernel.library, false); }, other, limits, best);
    if (!m) return tl::unexpected(m.error());
    e.verification.timed_outputs += m->checked;
    if (!m->failure.ok()) {
      took_failure(m->failure, e);
      return {};
    }
    // Before anything is called impossible, the machine is measured again: it may have been busy when its peaks were taken.
    if (m->timing.median_ns < work_[i].floor_ns) {
      if (auto again = take_peaks(); !again) return again;
    }
    m->timing.floor_ns = work_[i].floor_ns;
    if (m->timing.median_ns < work_[i].floor_ns) {
      e.outcome = "impossible_speed";
      e.detail = fmt::format("{}: {:.0f} ns where this machine needs at least {:.0f} ns to move the bytes and do the arithmetic",
                             bench_->workloads()[i]->main.what, m->timing.median_ns, work_[i].floor_ns);
      return {};
    }
    measured.push_back(std::move(*m));
  }
  // Once more: a kernel that behaved while it was verified may be another when it is timed.
  auto conduct = conduct_of(process, kernel);
  if (!conduct) return tl::unexpected(conduct.error());
  if (!took_failure(*conduct, e)) finish_measured(kernel, how, std::move(measured), e);
  return {};
}

void cpu_evaluator::finish_measured(const built_kernel& kernel, effort how, std::vector<workload_measurement> measured,
                                    memory::evaluation& e) {
  std::vector<harness::weighted_ratio> ratios;
  std::vector<double> per_workload;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    e.workloads.push_back(measured[i].timing);
    ratios.push_back({measured[i].ratio, measured[i].timing.weight});
    per_workload.push_back(measured[i].ratio.ratio);
    e.timing.wall_ns += measured[i].timing.median_ns;
    e.timing.event_ns += measured[i].inside_ns;
    if (measured[i].timing.median_ns > measured[longest].timing.median_ns) longest = i;
  }
  const harness::ratio_estimate whole = harness::combine_ratios(ratios);
  e.outcome = "passed";
  e.speedup = whole.ratio;
  e.ci95 = {whole.ci95.low, whole.ci95.high};
  e.timing.status = how == effort::quick ? "quick" : "measured";
  e.timing.control = control_verdict_;
  if (how != effort::quick && !control_verdict_.empty() && control_verdict_ != "no_difference") e.timing.status = "unproven";
  e.diagnosis = diagnose(work_[longest], measured[longest].timing.median_ns, peaks_, bench_->facts().last_level_cache_bytes);
  if (how != effort::quick && e.speedup > best_.speedup) best_ = {kernel.library, e.speedup, per_workload, std::nullopt};
  samples_ = samples_of(measured);
}

result<memory::evaluation> cpu_evaluator::evaluate(const built_kernel& kernel, effort how) {
  const stopwatch watch(bench_->clock());
  memory::evaluation e;
  e.stage = "build";
  e.fingerprint = fingerprint_;
  e.machine_code = kernel.machine_code;
  samples_ = nlohmann::json::object();
  const auto done = [&]() -> result<memory::evaluation> {
    e.cost = watch.cost(kernel.build_s);
    own_s_ += e.cost.own_s;
    return e;
  };
  if (!kernel.outcome.empty()) {
    e.outcome = kernel.outcome;
    e.detail = kernel.detail;
    return done();
  }
  auto process = bench_->start(kernel.library, false);
  if (!process) {
    if (process.error().kind != fault::bad_request) return tl::unexpected(process.error());
    e.outcome = "build_failed";
    e.detail = process.error().message;
    return done();
  }
  e.stage = "verify";
  if (auto verified = verify(*process, how, e); !verified) return tl::unexpected(verified.error());
  if (!e.outcome.empty()) return done();
  auto conduct = conduct_of(*process, kernel);
  if (!conduct) return tl::unexpected(conduct.error());
  if (took_failure(*conduct, e)) return done();
  if (bench_->options().strict && how == effort::final) {
    if (auto examined = strict_.run(kernel.source, e); !examined) return tl::unexpected(examined.error());
    if (!e.outcome.empty()) return done();
  }
  e.stage = how == effort::quick ? "quick" : "measure";
  if (auto measured = measure(kernel, *process, how, e); !measured) return tl::unexpected(measured.error());
  return done();
}

std::vector<memory::baseline_timing> cpu_evaluator::baselines() {
  std::vector<memory::baseline_timing> all;
  for (std::size_t b = 0; b < bench_->baselines().size(); ++b) {
    memory::baseline_timing& timing = all.emplace_back();
    timing.name = bench_->baselines()[b].name;
    for (const auto& w : bench_->workloads())
      timing.workloads.push_back(harness::timing_of_baseline(w->axis_names, w->weight, w->baselines[b].blocks_ns));
  }
  return all;
}

/// The A/A pair wants a baseline that can be called often: the first workload quick enough, else a smaller shape of the quickest.
result<workload_state*> cpu_evaluator::workload_for_control() {
  workload_state* quickest = bench_->workloads().front().get();
  for (const auto& w : bench_->workloads()) {
    if (quickest->baselines.front().call_ns <= control_call_ns) return quickest;
    if (w->baselines.front().call_ns < quickest->baselines.front().call_ns) quickest = w.get();
  }
  if (quickest->baselines.front().call_ns <= control_call_ns || control_workload_)
    return control_workload_ ? control_workload_.get() : quickest;
  const problem& p = bench_->subject();
  const double call_ns = quickest->baselines.front().call_ns;
  const std::vector<std::int64_t> axes = shrink_axes(
      p, quickest->main.axes, [call_ns](const std::vector<std::int64_t>&, double share) { return call_ns * share <= control_call_ns; });
  if (axes == quickest->main.axes) return quickest;
  auto made = bench_->make_workload(fmt::format("control shape {}", axes_text(p, axes)), axes, 1);
  if (!made) return tl::unexpected(made.error());
  if (auto sampled = measure_baselines(*bench_, **made); !sampled) return tl::unexpected(sampled.error());
  control_workload_ = std::move(*made);
  return control_workload_.get();
}

result<memory::control_result> cpu_evaluator::control() {
  const stopwatch watch(bench_->clock());
  auto w = workload_for_control();
  if (!w) return tl::unexpected(w.error());
  trusted_kernel& baseline = bench_->baselines().front();
  const auto again = [&] { return bench_->start(baseline.built.library, true, baseline.environment); };
  auto process = again();
  if (!process) return tl::unexpected(process.error());
  timing_limits limits = limits_for(effort::search, 1);
  limits.kernel_s = control_kernel_s;
  limits.slowest_paired_ns = std::numeric_limits<double>::infinity();
  limits.least_blocks = control_blocks;
  limits.launches = {control_launches, 2 * control_launches, control_width};
  champion none;
  auto m = measure_workload(*bench_, **w, *process, again, none, limits, 0);
  if (!m) return tl::unexpected(m.error());
  if (!m->failure.ok()) return fail(fault::infrastructure, "the baseline disagrees with itself: " + m->failure.detail);
  control_verdict_ = m->timing.verdict;
  own_s_ += watch.cost().own_s;
  return memory::control_result{control_verdict_, m->ratio.ratio, {m->ratio.ci95.low, m->ratio.ci95.high}};
}

}  // namespace

result<std::unique_ptr<harness::evaluator>> open_evaluator(const problem& p, const evaluator_options& options,
                                                           std::unique_ptr<candidate_language> language) {
  const double began_s = now_s();
  auto bench = workbench::open(p, options, std::move(language));
  if (!bench) return tl::unexpected(bench.error());
  auto made = std::make_unique<cpu_evaluator>(std::move(*bench));
  if (auto admitted = made->admit(); !admitted) return tl::unexpected(admitted.error());
  const memory::cost spent = made->spent();
  made->count_own(std::max(0.0, now_s() - began_s - spent.kernel_s - spent.build_s));
  return std::unique_ptr<evaluator>(std::move(made));
}

}  // namespace kernsmith::cpp
