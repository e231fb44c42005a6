#include "backends/external/device_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/external/c_source.hpp"

namespace kernsmith::external {

namespace {

/// A kernel may use this much scratch space even where the problem is small.
constexpr std::size_t least_workspace_bytes = std::size_t{1} << 20;
/// As often as the naive baseline's intermediates: a kernel may split its own otherwise.
constexpr std::size_t workspace_multiple = 2;

}  // namespace

std::size_t device_runs::workspace_for(const std::vector<device_call>& calls) const {
  std::size_t bytes = least_workspace_bytes;
  for (const device_call& call : calls) {
    const std::vector<std::int64_t>& axes = call.expected->axes;
    const std::size_t intermediates = naive_workspace_bytes(bench_.subject(), axes);
    const std::size_t copies = cpp::buffer_bytes(bench_.subject(), axes, cpp::output_form::native);
    bytes = std::max(bytes, workspace_multiple * intermediates + copies);
  }
  return bytes;
}

result<call_memory> device_runs::place(const std::vector<device_call>& calls, std::size_t workspace) {
  return call_memory::place(bench_.subject(), calls, workspace, static_cast<std::size_t>(limits().alignment),
                            static_cast<std::size_t>(limits().memory_bytes), bench_.entropy());
}

result<void> device_runs::run_batch(const harness::built_kernel& kernel, const std::vector<device_call>& calls, std::size_t workspace,
                                    run_outcome& so_far) {
  auto memory = place(calls, workspace);
  if (!memory) return tl::unexpected(memory.error());
  auto ran = commands_.run(kernel.library, *memory);
  if (!ran) return tl::unexpected(ran.error());
  spent_s_ += ran->wall_s;
  const auto ends_with = [&so_far](const std::string& outcome, const std::string& detail) -> result<void> {
    so_far.check.outcome = outcome;
    so_far.check.detail = detail;
    return {};
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string& what = calls[i].expected->what;
    if (i >= ran->calls.size()) {
      so_far.unexplained = true;
      return ends_with(ran->outcome.empty() ? "crashed" : ran->outcome,
                       fmt::format("{}: {}", what, ran->detail.empty() ? "the run ended and said nothing of this call" : ran->detail));
    }
    const call_report& report = ran->calls[i];
    if (!report.outcome.empty()) return ends_with(report.outcome, fmt::format("{}: {}", what, report.detail));
    if (!ran->outcome.empty()) continue;  // it broke down later, and the memory was not written back
    auto judged = memory->judge(bench_.subject(), i, bench_.threads());
    if (!judged) return tl::unexpected(judged.error());
    if (const auto counted = report.counters.find(commands_.target().objective.counter); counted != report.counters.end())
      so_far.counts.push_back(counted->second);
    so_far.counters = report.counters;
    const double worst = std::max(so_far.check.max_error, judged->max_error / calls[i].expected->budget_scale);
    so_far.check = std::move(*judged);
    so_far.check.max_error = worst;
    if (!so_far.check.ok()) return {};
  }
  if (ran->outcome.empty()) return {};
  so_far.unexplained = true;
  return ends_with(ran->outcome, "after the last call: " + ran->detail);
}

result<run_outcome> device_runs::run(const harness::built_kernel& kernel, const std::vector<device_call>& calls) {
  run_outcome all;
  const auto alignment = static_cast<std::size_t>(limits().alignment), most = static_cast<std::size_t>(limits().memory_bytes);
  const std::size_t workspace = workspace_for(calls);
  for (std::size_t begin = 0; begin < calls.size();) {
    std::size_t end = begin, bytes = workspace + alignment;
    while (end < calls.size() && end - begin < static_cast<std::size_t>(limits().max_calls)) {
      bytes += call_memory::bytes_of(bench_.subject(), calls[end].expected->axes, alignment);
      if (bytes > most && end > begin) break;
      ++end;
    }
    const auto at = [&calls](std::size_t i) { return calls.begin() + static_cast<std::ptrdiff_t>(i); };
    if (auto done = run_batch(kernel, {at(begin), at(end)}, workspace, all); !done) return tl::unexpected(done.error());
    if (!all.check.ok()) return all;
    if (bench_.stopped()) return fail(fault::interrupted, "stopped while a kernel ran on the device");
    begin = end;
  }
  return all;
}

std::map<std::string, double> device_runs::profile(const harness::built_kernel& kernel, const device_call& call) {
  if (commands_.target().profile.empty()) return {};
  auto memory = place({call}, workspace_for({call}));
  if (!memory) return {};
  const auto profiled = commands_.profile(kernel.library, *memory);
  if (!profiled || profiled->calls.empty()) return {};
  spent_s_ += profiled->wall_s;
  return profiled->calls.front().counters;
}

}  // namespace kernsmith::external
