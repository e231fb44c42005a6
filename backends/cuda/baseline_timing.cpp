// What the baselines cost on one workload, before any candidate is looked at.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/workload_timing.hpp"

namespace kernsmith::cuda {

namespace {

constexpr double baseline_sampling_s = 0.2;
constexpr std::size_t baseline_samples = 7;
constexpr double slow_call_s = 2;  // above: the first call has to do
constexpr double trusted_timeout_s = 120;

/// Error against the reference and the first samples of one baseline on one workload.
result<baseline_state> sample_baseline(workbench& bench, workload_state& w, trusted_kernel& baseline) {
  device_buffers& buffers = *w.verified;
  auto process = bench.process_of(baseline);
  if (!process) return tl::unexpected(process.error());
  auto first = bench.judging().kernel(w.main, **process, buffers, harness::poison::not_a_number(), trusted_timeout_s);
  if (!first) return tl::unexpected(first.error());
  baseline_state state;
  const bool has_values = first->ok() || first->outcome == "wrong_values" || first->outcome == "precision_broken";
  state.error = has_values ? first->max_error : harness::max_reported_error;
  const bool generated = baseline.name == "naive";
  if (!first->ok() && (!has_values || (!generated && state.error > trusted_error_limit))) {
    return fail(fault::bad_request, fmt::format("{}: baseline '{}' does not compute this problem ({}): {}", bench.subject().path.string(),
                                                baseline.name, first->outcome, first->detail));
  }
  double spent_s = 0;
  while (first->wall_ns * 1e-9 < slow_call_s && state.blocks_ns.size() < baseline_samples && spent_s < baseline_sampling_s) {
    harness::call_status status{};
    std::string detail;
    auto ns = one_call_ns(**process, buffers, status, detail);
    if (!ns) return tl::unexpected(ns.error());
    if (status != harness::call_status::ok)
      return fail(fault::bad_request,
                  fmt::format("{}: baseline '{}' failed when run again: {}", bench.subject().path.string(), baseline.name, detail));
    state.blocks_ns.push_back({*ns});
    spent_s += *ns * 1e-9;
  }
  if (state.blocks_ns.empty()) state.blocks_ns.push_back({first->wall_ns});
  state.call_ns = harness::median(harness::flat(state.blocks_ns));
  return state;
}

}  // namespace

/// Outside time of one call as it is timed, after the device was handed to the process.
result<double> one_call_ns(kernel_process& process, device_buffers& buffers, harness::call_status& status, std::string& detail) {
  auto ready = process.prepare_timed({&buffers}, trusted_timeout_s);
  if (!ready) return tl::unexpected(ready.error());
  status = ready->status;
  detail = ready->detail;
  if (status != harness::call_status::ok) return 0.0;
  auto touched = process.touch(trusted_timeout_s);
  if (!touched) return tl::unexpected(touched.error());
  auto called = process.timed({&buffers}, trusted_timeout_s);
  if (!called) return tl::unexpected(called.error());
  status = called->status;
  detail = called->detail;
  return std::max(called->wall_ns - process.empty_call_ns(), 0.05 * called->wall_ns);
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

}  // namespace kernsmith::cuda
