#include "backends/cpp/workload_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kernsmith::cpp {

namespace {

constexpr double batch_target_ns = 1.2e6;  // an outside measurement of at least this: the clock's own share stays below a percent
constexpr double longest_trusted_batch_ns = 20e6;
constexpr int max_batch = 32;
constexpr double longest_warmed_ns = 20e6;   // longer kernels stream through the caches anyway
constexpr double baseline_sampling_s = 0.6;  // per baseline and workload when a problem is opened
constexpr std::size_t baseline_samples = 7;
constexpr double slow_call_s = 2;  // above: the first call has to do
// The baseline's error was seen on a few contents; on fresh ones it may be larger. float64 checks anchor both legs before and after.
constexpr double baseline_error_margin = 3;
constexpr double trusted_error_limit = 25;  // a baseline further off than this many budgets can't stand in for the reference
constexpr double longest_paired_ns = 300e6;
constexpr double comparable_ratio = 3;
constexpr std::size_t enough_separate_samples = 40;
constexpr int cold_samples = 7;
constexpr double trusted_timeout_s = 600;
constexpr double least_timeout_s = 5;
constexpr double timeout_factor = 50;

double seconds(double ns) {
  return ns * 1e-9;
}

/// The trusted leg for a workload, or the reason why it can't be had.
struct leg_choice {
  trusted_leg leg;
  double call_ns = 0;
};

/// The reference computes what must come out, call by call.
result<leg_choice> reference_leg(workbench& bench, workload_state& w) {
  auto process = bench.process_of(bench.reference());
  if (!process) return tl::unexpected(process.error());
  auto wide = bench.reference_set(w);
  if (!wide) return tl::unexpected(wide.error());
  leg_choice choice;
  choice.leg.process = *process;
  choice.leg.form = output_form::wide;
  choice.leg.wide = *wide;
  choice.leg.timed = false;
  choice.leg.budget_scale = 1;
  choice.call_ns = w.reference_ns;
  return choice;
}

result<leg_choice> choose_leg(workbench& bench, workload_state& w, champion& best, const timing_limits& limits, double best_ratio,
                              double candidate_ns) {
  const baseline_state& baseline = w.baselines.front();
  leg_choice choice;
  // A baseline not much slower than the candidate is worth interleaving even when both are long.
  const double slowest = std::max(limits.slowest_paired_ns, std::min(comparable_ratio * candidate_ns, longest_paired_ns));
  if (baseline.call_ns <= slowest && baseline.error <= trusted_error_limit) {
    auto process = bench.process_of(bench.baselines().front());
    if (!process) return tl::unexpected(process.error());
    choice.leg.process = *process;
    choice.leg.budget_scale = 1 + std::max(1.0, baseline_error_margin * baseline.error);
    choice.call_ns = baseline.call_ns;
    return choice;
  }
  choice.leg.timed = false;
  if (!best.library.empty()) {
    if (!best.process || !best.process->alive()) {
      auto started = bench.start(best.library, false);
      if (!started) return tl::unexpected(started.error());
      best.process = std::move(*started);
    }
    choice.leg.process = &*best.process;
    choice.call_ns = best_ratio > 0 ? baseline.call_ns / best_ratio : baseline.call_ns;
    return choice;
  }
  return reference_leg(bench, w);
}

/// A baseline that isn't interleaved gets one more sample beside each candidate, so that what it is compared with doesn't age.
result<void> refresh_baseline(workbench& bench, workload_state& w) {
  baseline_state& baseline = w.baselines.front();
  if (baseline.call_ns > longest_paired_ns || baseline.blocks_ns.size() >= enough_separate_samples) return {};
  auto process = bench.process_of(bench.baselines().front());
  if (!process) return tl::unexpected(process.error());
  auto called = (*process)->call({w.timing.trusted.front().get()}, trusted_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok)
    return fail(fault::infrastructure, "the baseline failed on contents it had managed before");
  baseline.blocks_ns.push_back({std::max(called->wall_ns - (*process)->empty_call_ns(), 0.05 * called->wall_ns)});
  return {};
}

/// One warm call of the candidate on verified contents, by the outside clock.
result<double> pilot(workload_state& w, kernel_process& candidate) {
  double least = 0;
  for (int call = 0; call < 2; ++call) {
    auto called = candidate.call({w.timing.candidate.front().get()}, trusted_timeout_s);
    if (!called) return tl::unexpected(called.error());
    const double net = std::max(called->wall_ns - candidate.empty_call_ns(), 0.05 * called->wall_ns);
    least = call == 0 ? net : std::min(least, net);
    if (called->status != harness::call_status::ok || seconds(net) > slow_call_s) break;
  }
  return least;
}

timing_plan plan_for(workbench& bench, const workload_state& w, double candidate_ns, const leg_choice& trusted) {
  timing_plan plan;
  plan.stop = bench.options().stop;
  plan.threads = bench.threads();
  const double shorter = trusted.leg.timed ? std::min(candidate_ns, trusted.call_ns) : candidate_ns;
  const double wanted = std::ceil(batch_target_ns / std::max(shorter, 100.0));
  const double affordable = std::max(1.0, longest_trusted_batch_ns / std::max(trusted.call_ns, 100.0));
  plan.batch = static_cast<int>(std::clamp(std::min(wanted, affordable), 1.0, static_cast<double>(max_batch)));
  const double bytes = static_cast<double>(buffer_bytes(bench.subject(), w.main.axes, output_form::native));
  const auto cache = static_cast<double>(bench.facts().last_level_cache_bytes);
  plan.warm = bytes * plan.batch < cache && candidate_ns * plan.batch < longest_warmed_ns;
  const double batch_s = seconds(std::max(candidate_ns, trusted.call_ns)) * plan.batch;
  plan.timeout_s = std::min(trusted_timeout_s, least_timeout_s + timeout_factor * batch_s);
  return plan;
}

/// Blocks of one process launch.
result<void> run_launch(workbench& bench, workload_state& w, paired_timing& timing, int launch, const harness::stopping_rule& rule,
                        bool stops_early, double best_ratio, workload_measurement& m) {
  auto settled = timing.settle();
  if (!settled) return tl::unexpected(settled.error());
  if (!settled->ok()) {
    m.failure = *settled;
    return {};
  }
  const double began_s = bench.clock().kernel_s;
  harness::measuring_progress progress;
  while (!rule.done(progress)) {
    if (bench.stopped()) return fail(fault::interrupted, "stopped while a candidate was timed");
    harness::timing_block block;
    block_conditions conditions;
    conditions.before = read_processor_state(bench.options().cores);
    auto done = timing.block(launch, block);
    if (!done) return tl::unexpected(done.error());
    if (!done->ok()) {
      m.failure = *done;
      return {};
    }
    if (m.paired) harness::keep_block(w.baselines.front().blocks_ns, block.baseline_ns);
    conditions.after = read_processor_state(bench.options().cores);
    m.blocks.push_back(std::move(block));
    m.conditions.push_back(conditions);
    ++progress.blocks;
    progress.spent_s = bench.clock().kernel_s - began_s;
    progress.relative_width = harness::progress_width(m);
    progress.entropy_bits.push_back(harness::entropy_of(m, launch));
    if (stops_early && harness::hopeless(m, w.baselines.front().blocks_ns, best_ratio)) {
      m.stopped_early = true;
      return {};
    }
  }
  return {};
}

result<void> run_cold(workbench& bench, workload_state& w, kernel_process& candidate, const leg_choice& trusted, timing_plan plan,
                      workload_measurement& m) {
  std::vector<std::byte> evict(
      static_cast<std::size_t>(2 * std::max<std::int64_t>(bench.facts().last_level_cache_bytes, std::int64_t{8} << 20)));
  plan.batch = 1;
  plan.warm = false;
  plan.kept = nullptr;
  plan.evict = &evict;
  paired_timing timing(bench.subject(), w.main, w.timing, candidate, trusted.leg, plan, bench.entropy());
  for (int pair = 0; pair < (cold_samples + 1) / 2; ++pair) {
    harness::timing_block block;
    auto done = timing.block(0, block);
    if (!done) return tl::unexpected(done.error());
    if (!done->ok()) {
      m.failure = *done;
      return {};
    }
    m.cold_ns.insert(m.cold_ns.end(), block.candidate_ns.begin(), block.candidate_ns.end());
  }
  m.checked += timing.checked_outputs();
  return {};
}

/// Error against the reference and the first samples of one baseline on one workload.
result<baseline_state> sample_baseline(workbench& bench, workload_state& w, trusted_kernel& baseline) {
  kernel_buffers& buffers = *w.timing.trusted.front();
  auto process = bench.process_of(baseline);
  if (!process) return tl::unexpected(process.error());
  auto first =
      check_kernel(bench.subject(), w.main, **process, buffers, harness::poison::not_a_number(), trusted_timeout_s, bench.threads());
  if (!first) return tl::unexpected(first.error());
  baseline_state state;
  const bool has_values = first->ok() || first->outcome == "wrong_values" || first->outcome == "precision_broken";
  state.error = has_values ? first->max_error : harness::max_reported_error;
  const bool generated = &baseline == &bench.baselines().front() && bench.subject().baselines.front().builtin == "naive";
  if (!first->ok() && (!has_values || (!generated && state.error > trusted_error_limit))) {
    return fail(fault::bad_request, fmt::format("{}: baseline '{}' does not compute this problem ({}): {}", bench.subject().path.string(),
                                                baseline.name, first->outcome, first->detail));
  }
  double spent_s = 0;
  while (seconds(first->wall_ns) < slow_call_s && state.blocks_ns.size() < baseline_samples && spent_s < baseline_sampling_s) {
    auto called = (*process)->call({&buffers}, trusted_timeout_s);
    if (!called) return tl::unexpected(called.error());
    if (called->status != harness::call_status::ok)
      return fail(fault::bad_request, "baseline '" + baseline.name + "' failed when run again");
    state.blocks_ns.push_back({std::max(called->wall_ns - (*process)->empty_call_ns(), 0.05 * called->wall_ns)});
    spent_s += seconds(called->wall_ns);
  }
  if (state.blocks_ns.empty()) state.blocks_ns.push_back({first->wall_ns});
  state.call_ns = harness::median(harness::flat(state.blocks_ns));
  return state;
}

/// One more call on fresh contents, checked against the reference itself.
result<void> run_anchor(workbench& bench, workload_state& w, kernel_process& candidate, timing_plan plan, workload_measurement& m) {
  auto reference = reference_leg(bench, w);
  if (!reference) return tl::unexpected(reference.error());
  plan.batch = 1;
  plan.samples_outputs = false;
  plan.timeout_s = trusted_timeout_s;
  paired_timing timing(bench.subject(), w.main, w.timing, candidate, reference->leg, plan, bench.entropy());
  auto done = timing.settle();
  if (!done) return tl::unexpected(done.error());
  m.failure = *done;
  m.checked += timing.checked_outputs();
  return {};
}

}  // namespace

timing_limits limits_for(effort how, std::size_t workloads) {
  const double share = 1.0 / static_cast<double>(std::max<std::size_t>(workloads, 1));
  timing_limits limits;
  switch (how) {
    case effort::quick:
      limits.kernel_s = 0.2;
      limits.least_blocks = 4;
      limits.most_blocks = 12;
      break;
    case effort::search:
      limits.kernel_s = std::max(0.45 * share, 0.08);
      limits.least_blocks = 4;
      limits.most_blocks = 30;
      limits.stops_early = true;
      break;
    case effort::final:
      limits.kernel_s = std::max(6 * share, 0.8);
      limits.least_blocks = 3;
      limits.most_blocks = 25;
      limits.relative_width = 0.006;
      limits.slowest_paired_ns = 300e6;
      limits.launches = {8, 16};
      limits.cold = true;
      limits.anchored = true;
      limits.samples_outputs = false;
      break;
  }
  return limits;
}

result<workload_measurement> measure_workload(workbench& bench, workload_state& w, kernel_process& candidate,
                                              const process_starter& relaunch, champion& best, const timing_limits& limits,
                                              double best_ratio) {
  auto candidate_ns = pilot(w, candidate);
  if (!candidate_ns) return tl::unexpected(candidate_ns.error());
  auto trusted = choose_leg(bench, w, best, limits, best_ratio, *candidate_ns);
  if (!trusted) return tl::unexpected(trusted.error());
  if (!trusted->leg.timed) {
    if (auto sampled = refresh_baseline(bench, w); !sampled) return tl::unexpected(sampled.error());
  }
  timing_plan plan = plan_for(bench, w, *candidate_ns, *trusted);
  plan.arbiter = [&bench, &w]() -> result<trusted_leg> {
    auto reference = reference_leg(bench, w);
    if (!reference) return tl::unexpected(reference.error());
    return reference->leg;
  };
  harness::kept_answers kept;
  plan.kept = &kept;
  plan.samples_outputs = limits.samples_outputs;
  if (auto grown = bench.grow_timing_buffers(w, static_cast<std::size_t>(plan.batch)); !grown) return tl::unexpected(grown.error());

  workload_measurement m;
  m.paired = trusted->leg.timed;
  harness::relative_width_parameters parameters;
  parameters.relative_width = limits.relative_width;
  parameters.least_blocks = limits.least_blocks;
  parameters.most_blocks = limits.most_blocks;
  parameters.most_s = limits.kernel_s / limits.launches.least;
  const harness::stopping_choice by_effort{harness::stopping_choice::kind::relative_width, limits.relative_width};
  const auto rule = harness::make_stopping_rule(bench.options().until.value_or(by_effort), parameters);
  m.stopping_rule = rule->describe();
  kernel_process* process = &candidate;
  for (int launch = 0; harness::wants_launch(m, launch, limits.launches); ++launch) {
    if (launch > 0) {
      auto renewed = candidate.renew();  // in a control a baseline stands here
      if (!renewed) return tl::unexpected(renewed.error());
      if (!*renewed) {
        auto fresh = relaunch();
        if (!fresh) return tl::unexpected(fresh.error());
        candidate = std::move(*fresh);
      }
      process = &candidate;
      if (best.process && best.process->alive()) {
        if (auto forgotten = best.process->forget_sets(); !forgotten) return tl::unexpected(forgotten.error());
      }
      if (auto replaced = bench.replace_timing_buffers(w); !replaced) return tl::unexpected(replaced.error());
      // A process's luck with memory and caches lasts as long as it does: the baseline's must not be the same in every launch.
      if (trusted->leg.timed) {
        auto again = bench.new_process_of(bench.baselines().front());
        if (!again) return tl::unexpected(again.error());
        trusted->leg.process = *again;
      }
    }
    paired_timing timing(bench.subject(), w.main, w.timing, *process, trusted->leg, plan, bench.entropy());
    if (auto ran = run_launch(bench, w, timing, launch, *rule, limits.stops_early, best_ratio, m); !ran) return tl::unexpected(ran.error());
    m.checked += timing.checked_outputs();
    m.inside_ns = timing.candidate_inside_ns();
    if (!m.failure.ok() || m.stopped_early) break;
  }
  const bool by_champion = !m.paired && trusted->leg.form == output_form::native;
  if (m.failure.ok() && (limits.anchored || by_champion)) {
    if (auto ran = run_anchor(bench, w, *process, plan, m); !ran) return tl::unexpected(ran.error());
  }
  if (m.failure.ok() && limits.cold && !m.stopped_early) {
    if (auto ran = run_cold(bench, w, *process, *trusted, plan, m); !ran) return tl::unexpected(ran.error());
  }
  if (m.failure.ok()) harness::summarise(m, w.axis_names, w.weight, w.baselines.front().blocks_ns, bench.options().seed);
  return m;
}

result<void> measure_baselines(workbench& bench, workload_state& w) {
  for (trusted_kernel& baseline : bench.baselines()) {
    if (bench.stopped()) return fail(fault::interrupted, "stopped while baselines were measured");
    auto state = sample_baseline(bench, w, baseline);
    if (!state) return tl::unexpected(state.error());
    w.baselines.push_back(std::move(*state));
  }
  return {};
}

}  // namespace kernsmith::cpp
