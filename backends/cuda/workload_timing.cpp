#include "backends/cuda/workload_timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kernsmith::cuda {

namespace {

constexpr double batch_target_ns = 1.2e6;  // an outside measurement of at least this: the clock's own share stays below a percent
constexpr double longest_trusted_batch_ns = 20e6;
constexpr int max_batch = 64;
constexpr double longest_warmed_ns = 5e6;
constexpr double slow_call_s = 2;
constexpr double baseline_error_margin = 3;
constexpr double longest_paired_ns = 300e6;
constexpr double comparable_ratio = 3;
constexpr std::size_t enough_separate_samples = 40;
constexpr int cold_samples = 8;
constexpr double trusted_timeout_s = 120;
constexpr double least_timeout_s = 5;
constexpr double timeout_factor = 50;
constexpr int most_discarded_blocks = 20;

struct leg_choice {
  trusted_leg leg;
  double call_ns = 0;
};

result<leg_choice> reference_leg(workbench& bench, workload_state& w) {
  if (!bench.has_device_reference()) {
    return fail(
        fault::bad_request,
        fmt::format("{}: the first baseline is too slow or too far off to say what timed calls must give, and the reference can't run "
                    "on the device; give a baseline in CUDA that is accurate",
                    bench.subject().path.string()));
  }
  auto process = bench.process_of(bench.reference());
  if (!process) return tl::unexpected(process.error());
  leg_choice choice;
  choice.leg.process = *process;
  choice.leg.form = output_form::wide;
  choice.leg.timed = false;
  choice.leg.budget_scale = 1;
  choice.call_ns = w.reference_ns;
  return choice;
}

/// The champion computes what must come out.
result<leg_choice> champion_leg(workbench& bench, const workload_state& w, double best_ratio) {
  auto process = bench.process_of_champion();
  if (!process) return tl::unexpected(process.error());
  const double baseline_ns = w.baselines.front().call_ns;
  leg_choice choice;
  choice.leg.process = *process;
  choice.leg.timed = false;
  choice.leg.champion = true;
  choice.call_ns = best_ratio > 0 ? baseline_ns / best_ratio : baseline_ns;
  return choice;
}

result<leg_choice> choose_leg(workbench& bench, workload_state& w, const timing_limits& limits, double candidate_ns, double best_ratio,
                              bool by_champion) {
  const baseline_state& baseline = w.baselines.front();
  const double slowest = std::max(limits.slowest_paired_ns, std::min(comparable_ratio * candidate_ns, longest_paired_ns));
  if (baseline.call_ns > slowest || baseline.error > trusted_error_limit) {
    const bool champion = by_champion && !bench.champion().empty() && bench.has_device_reference();
    return champion ? champion_leg(bench, w, best_ratio) : reference_leg(bench, w);
  }
  auto process = bench.process_of(bench.baselines().front());
  if (!process) return tl::unexpected(process.error());
  leg_choice choice;
  choice.leg.process = *process;
  choice.leg.budget_scale = 1 + std::max(1.0, baseline_error_margin * baseline.error);
  choice.call_ns = baseline.call_ns;
  return choice;
}

/// A baseline that isn't interleaved gets one more sample beside each candidate, so that what it is compared with doesn't age.
result<void> refresh_baseline(workbench& bench, workload_state& w) {
  baseline_state& baseline = w.baselines.front();
  if (baseline.call_ns > longest_paired_ns || baseline.blocks_ns.size() >= enough_separate_samples) return {};
  auto process = bench.process_of(bench.baselines().front());
  if (!process) return tl::unexpected(process.error());
  harness::call_status status{};
  std::string detail;
  auto ns = one_call_ns(**process, *w.timing.trusted.front(), status, detail);
  if (!ns) return tl::unexpected(ns.error());
  if (status != harness::call_status::ok)
    return fail(fault::infrastructure, "the baseline failed on contents it had managed before: " + detail);
  baseline.blocks_ns.push_back({*ns});
  return {};
}

timing_plan plan_for(workbench& bench, const workload_state& w, double candidate_ns, const leg_choice& trusted) {
  timing_plan plan;
  plan.stop = bench.options().stop;
  const double shorter = trusted.leg.timed ? std::min(candidate_ns, trusted.call_ns) : candidate_ns;
  const double wanted = std::ceil(batch_target_ns / std::max(shorter, 100.0));
  const double affordable = std::max(1.0, longest_trusted_batch_ns / std::max(trusted.call_ns, 100.0));
  plan.batch = static_cast<int>(std::clamp(std::min(wanted, affordable), 1.0, static_cast<double>(max_batch)));
  const double bytes = static_cast<double>(cpp::buffer_bytes(bench.subject(), w.main.axes, output_form::native));
  plan.warm = bytes * plan.batch < static_cast<double>(bench.on()->l2_bytes()) && candidate_ns * plan.batch < longest_warmed_ns;
  const double batch_s = std::max(candidate_ns, trusted.call_ns) * 1e-9 * plan.batch;
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
    auto done = timing.block(launch, block);
    if (!done) return tl::unexpected(done.error());
    if (!done->ok()) {
      m.failure = *done;
      return {};
    }
    if (block.candidate_ns.empty()) {
      if (timing.discarded_blocks() > most_discarded_blocks)
        return fail(fault::infrastructure, "the device keeps slowing itself down (heat or power): nothing can be timed on it");
      continue;
    }
    if (m.paired) harness::keep_block(w.baselines.front().blocks_ns, block.baseline_ns);
    m.blocks.push_back(std::move(block));
    ++progress.blocks;
    progress.spent_s = bench.clock().kernel_s - began_s;
    progress.relative_width = harness::progress_width(m);
    progress.entropy_bits.push_back(harness::entropy_of(m, launch));
    if (stops_early && harness::hopeless(m, w.baselines.front().blocks_ns, best_ratio)) {
      m.stopped_early = true;
      break;
    }
  }
  auto slack = timing.check_slack();
  if (!slack) return tl::unexpected(slack.error());
  if (!slack->ok()) m.failure = *slack;
  return {};
}

result<void> run_cold(workbench& bench, workload_state& w, kernel_process& candidate, const leg_choice& trusted, timing_plan plan,
                      workload_measurement& m) {
  plan.batch = 1;
  plan.warm = false;
  plan.kept = nullptr;
  plan.cold = true;
  paired_timing timing(bench, w, candidate, trusted.leg, plan, bench.entropy());
  auto settled = timing.settle();
  if (!settled) return tl::unexpected(settled.error());
  m.failure = *settled;
  for (int pair = 0; pair < cold_samples / 2 && m.failure.ok(); ++pair) {
    harness::timing_block block;
    auto done = timing.block(0, block);
    if (!done) return tl::unexpected(done.error());
    m.failure = *done;
    m.cold_ns.insert(m.cold_ns.end(), block.candidate_ns.begin(), block.candidate_ns.end());
  }
  m.checked += timing.checked_outputs();
  return {};
}

/// One more call on fresh contents, checked against the reference itself.
result<void> run_anchor(workbench& bench, workload_state& w, kernel_process& candidate, timing_plan plan, workload_measurement& m) {
  if (!bench.has_device_reference()) return {};
  auto reference = reference_leg(bench, w);
  if (!reference) return tl::unexpected(reference.error());
  plan.batch = 1;
  plan.timeout_s = trusted_timeout_s;
  paired_timing timing(bench, w, candidate, reference->leg, plan, bench.entropy());
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
      limits.kernel_s = 0.1;
      limits.least_blocks = 4;
      limits.most_blocks = 12;
      break;
    case effort::search:
      limits.kernel_s = std::max(0.2 * share, 0.05);
      limits.least_blocks = 4;
      limits.most_blocks = 20;
      limits.stops_early = true;
      break;
    case effort::final:
      limits.kernel_s = std::max(3 * share, 0.6);
      limits.least_blocks = 3;
      limits.most_blocks = 25;
      limits.relative_width = 0.006;
      limits.slowest_paired_ns = 300e6;
      limits.launches = {6, 12};
      limits.cold = true;
      limits.anchored = true;
      break;
  }
  return limits;
}

result<workload_measurement> measure_workload(workbench& bench, workload_state& w, kernel_process& candidate,
                                              const process_starter& relaunch, const timing_limits& limits, double best_ratio,
                                              bool by_champion) {
  double candidate_ns = 0;
  for (int call = 0; call < 2; ++call) {
    harness::call_status status{};
    std::string detail;
    auto ns = one_call_ns(candidate, *w.verified, status, detail);
    if (!ns) return tl::unexpected(ns.error());
    candidate_ns = call == 0 ? *ns : std::min(candidate_ns, *ns);
    if (status != harness::call_status::ok || *ns * 1e-9 > slow_call_s) break;
  }
  auto trusted = choose_leg(bench, w, limits, candidate_ns, best_ratio, by_champion);
  if (!trusted) return tl::unexpected(trusted.error());
  if (!trusted->leg.timed) {
    if (auto sampled = refresh_baseline(bench, w); !sampled) return tl::unexpected(sampled.error());
  }
  timing_plan plan = plan_for(bench, w, candidate_ns, *trusted);
  harness::kept_answers kept;
  plan.kept = &kept;
  if (auto grown = bench.grow_timing_buffers(w, static_cast<std::size_t>(plan.batch)); !grown) return tl::unexpected(grown.error());

  workload_measurement m;
  m.paired = trusted->leg.timed;
  m.batch = plan.batch;
  harness::relative_width_parameters parameters;
  parameters.relative_width = limits.relative_width;
  parameters.least_blocks = limits.least_blocks;
  parameters.most_blocks = limits.most_blocks;
  parameters.most_s = limits.kernel_s / limits.launches.least;
  const harness::stopping_choice by_effort{harness::stopping_choice::kind::relative_width, limits.relative_width};
  const auto rule = harness::make_stopping_rule(bench.options().until.value_or(by_effort), parameters);
  m.stopping_rule = rule->describe();
  for (int launch = 0; harness::wants_launch(m, launch, limits.launches); ++launch) {
    if (launch > 0) {
      bench.begin_runners(trusted->leg.timed ? 2 : 1);
      auto fresh = relaunch();
      if (!fresh) return tl::unexpected(fresh.error());
      candidate = std::move(*fresh);
      // A process's luck with memory lasts as long as it does: the baseline's must not be the same in every launch.
      if (trusted->leg.timed) bench.baselines().front().process.reset();
      if (auto replaced = bench.grow_timing_buffers(w, static_cast<std::size_t>(plan.batch), true); !replaced)
        return tl::unexpected(replaced.error());
      if (trusted->leg.timed) {
        auto again = bench.process_of(bench.baselines().front());
        if (!again) return tl::unexpected(again.error());
        trusted->leg.process = *again;
      }
    }
    paired_timing timing(bench, w, candidate, trusted->leg, plan, bench.entropy());
    if (auto ran = run_launch(bench, w, timing, launch, *rule, limits.stops_early, best_ratio, m); !ran) return tl::unexpected(ran.error());
    m.checked += timing.checked_outputs();
    m.event_ns = timing.candidate_event_ns();
    m.states.insert(m.states.end(), timing.states().begin(), timing.states().end());
    m.discarded_blocks += timing.discarded_blocks();
    if (!m.failure.ok() || m.stopped_early) break;
  }
  if (m.failure.ok() && (limits.anchored || trusted->leg.champion)) {
    if (auto ran = run_anchor(bench, w, candidate, plan, m); !ran) return tl::unexpected(ran.error());
  }
  if (m.failure.ok() && limits.cold && !m.stopped_early) {
    if (auto ran = run_cold(bench, w, candidate, *trusted, plan, m); !ran) return tl::unexpected(ran.error());
  }
  if (m.failure.ok()) harness::summarise(m, w.axis_names, w.weight, w.baselines.front().blocks_ns, bench.options().seed);
  return m;
}

}  // namespace kernsmith::cuda
