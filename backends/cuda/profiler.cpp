#include "backends/cuda/profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "backends/cuda/cupti.hpp"
#include "backends/cuda/device.hpp"
#include "backends/cuda/profile_ncu.hpp"
#include "backends/cuda/ptxas_report.hpp"
#include "backends/cuda/toolchain.hpp"
#include "backends/harness/device_lease.hpp"
#include "backends/harness/find_tool.hpp"
#include "backends/harness/permitted_libraries.hpp"
#include "backends/harness/profile_run.hpp"

namespace kernsmith::cuda {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t timeline_calls = 20;
constexpr double timed_s = 0.3, timed_timeout_s = 60, counted_timeout_s = 110;
/// Nsight Compute's own files, where its packages put them.
constexpr std::array counter_tool_folders = {"/opt/nvidia", "/usr/local/cuda"};

/// ncu on the path, else in the toolkit's folder.
std::optional<fs::path> find_ncu() {
  if (auto found = harness::find_tool("ncu")) return found;
  std::error_code ignored;
  const fs::path usual = "/usr/local/cuda/bin/ncu";
  return fs::exists(usual, ignored) ? std::optional(usual) : std::nullopt;
}

class cuda_profiler {
 public:
  cuda_profiler(const memory::evaluation& measured, const device& on) : measured_(measured), device_(on) {}

  void take_roofline();
  void take_resources(const std::string& build_log);
  result<void> time_calls(const harness::profile_folder& folder, harness::profile_run_spec spec);
  result<void> record_timeline(const harness::profile_folder& folder, harness::profile_run_spec spec);
  result<void> count(const harness::profile_folder& folder, harness::profile_run_spec spec);
  [[nodiscard]] harness::profile_run_spec run_spec(const fs::path& library, const harness::evaluator_options& options) const;
  memory::profile finish();

 private:
  void set(const char* name, double value, const char* unit, const char* tool) {
    if (std::isfinite(value)) out_.signals[name] = {value, unit, tool};
  }
  const memory::evaluation& measured_;
  const device& device_;
  memory::profile out_;
};

void cuda_profiler::take_roofline() {
  static constexpr std::array<std::pair<const char*, const char*>, 8> units{{{"bytes", "B"},
                                                                             {"flops", "operations"},
                                                                             {"gb_per_s", "GB/s"},
                                                                             {"gflop_per_s", "GFLOP/s"},
                                                                             {"arithmetic_intensity", "operations/B"},
                                                                             {"memory_fraction", "fraction"},
                                                                             {"compute_fraction", "fraction"},
                                                                             {"cache_resident", "yes or no"}}};
  for (const auto& [name, unit] : units) {
    const auto found = measured_.diagnosis.signals.find(name);
    if (found != measured_.diagnosis.signals.end()) set(name, found->second, unit, "roofline");
  }
  out_.time_ns = measured_.workloads.front().median_ns;
  set("time_ns", out_.time_ns, "ns", "outside clock");
  set("roofline_fraction", measured_.diagnosis.roofline_fraction, "fraction", "roofline");
  set("peak_copy_gb_per_s", measured_.fingerprint.copy_gb_per_s, "GB/s", "roofline");
  set("peak_gflop_per_s", measured_.fingerprint.peak_gflop_per_s, "GFLOP/s", "roofline");
}

void cuda_profiler::take_resources(const std::string& build_log) {
  const kernel_resources most = largest_resources(parse_ptxas_report(build_log));
  set("registers", static_cast<double>(most.registers), "per thread", "ptxas");
  set("spill_bytes", static_cast<double>(most.spill_store_bytes + most.spill_load_bytes), "B per thread", "ptxas");
  set("static_shared_bytes", static_cast<double>(most.static_shared_bytes), "B per block", "ptxas");
}

harness::profile_run_spec cuda_profiler::run_spec(const fs::path& library, const harness::evaluator_options& options) const {
  harness::profile_run_spec spec;
  spec.library = library;
  spec.cores = options.cores;
  spec.accelerator = device_.access();
  spec.environment = device_.environment();
  const fs::path folder = device_.access().driver.parent_path();
  if (!folder.string().starts_with("/usr/") && !folder.string().starts_with("/lib")) spec.readable.push_back(folder);
  spec.warm_calls = 3;
  spec.stop = options.stop;
  return spec;
}

/// Many calls in a row, waited for together: what is not the kernels' own time then is launching them.
result<void> cuda_profiler::time_calls(const harness::profile_folder& folder, harness::profile_run_spec spec) {
  spec.calls = 20;
  spec.seconds = timed_s;
  spec.timeout_s = timed_timeout_s;
  auto report = harness::run_for_profile(folder, spec);
  if (!report) return tl::unexpected(error{report.error().kind, "the kernel by itself: " + report.error().message});
  set("call_ns", report->call_ns, "ns", "inside clock");
  if (report->event_ns > 0) set("call_event_ns", report->event_ns / static_cast<double>(report->calls), "ns", "CUDA events");
  return {};
}

/// The same calls with the device's activity recorded: gaps between kernels, and waits of the host inside of a call.
result<void> cuda_profiler::record_timeline(const harness::profile_folder& folder, harness::profile_run_spec spec) {
  const auto cupti = find_cupti();
  if (!cupti) {
    out_.missing.push_back(
        {"cupti", "the CUDA toolkit's CUPTI is not installed: no timeline of the device", "install the toolkit's CUPTI"});
    return {};
  }
  spec.timeline = *cupti;
  spec.calls = timeline_calls;
  spec.timeout_s = timed_timeout_s;
  auto report = harness::run_for_profile(folder, spec);
  if (!report) {
    if (report.error().kind != fault::bad_request) return tl::unexpected(report.error());
    out_.missing.push_back({"cupti", report.error().message, ""});
    return {};
  }
  const harness::device_timeline& t = report->timeline;
  const auto calls = static_cast<double>(report->calls);
  if (t.kernels <= 0 || t.span_ns <= 0) {
    out_.missing.push_back({"cupti", "it recorded no kernel", ""});
    return {};
  }
  set("kernels_per_call", t.kernels / calls, "per call", "cupti");
  set("copies_per_call", t.copies / calls, "per call", "cupti");
  set("device_busy_ns", t.busy_ns / calls, "ns per call", "cupti");
  // One wait is the driver's own, after all calls.
  set("host_waits", std::max(0.0, t.syncs - 1) / calls, "per call", "cupti");
  return {};
}

result<void> cuda_profiler::count(const harness::profile_folder& folder, harness::profile_run_spec spec) {
  const auto ncu = find_ncu();
  if (!ncu) {
    out_.missing.push_back(
        {"ncu", "Nsight Compute is not installed: no hardware counters", "install nsight-compute with the CUDA toolkit"});
    return {};
  }
  std::error_code ignored;
  for (const char* path : counter_tool_folders) {
    if (fs::is_directory(path, ignored) && !std::string_view(path).starts_with("/usr/")) spec.readable.emplace_back(path);
  }
  const std::string log = std::string(harness::profile_output_inside) + "/counters.csv";
  spec.wrapper = ncu_command(*ncu, most_profiled_kernels, log);
  spec.calls = 1;
  spec.timeout_s = counted_timeout_s;
  auto ran = harness::run_for_profile(folder, spec);
  std::ifstream file(folder.output() / "counters.csv");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto kernels = parse_ncu_csv(text);
  if (!kernels) {
    if (!ran && ran.error().kind != fault::bad_request) return tl::unexpected(ran.error());
    memory::missing_tool why = explain_ncu_failure(text + (ran ? ran->output : ran.error().message));
    if (!ran && why.reason == "it gave no counters") why.reason = ran.error().message;
    out_.missing.push_back(std::move(why));
    return {};
  }
  for (auto& [name, s] : ncu_signals(*kernels)) out_.signals[name] = s;
  const kernel_counters& longest = (*kernels)[longest_kernel(*kernels)];
  out_.hot_code = longest.kernel;
  if (kernels->size() == static_cast<std::size_t>(most_profiled_kernels))
    out_.notes.push_back(fmt::format("a call may launch more kernels than the {} that were counted", most_profiled_kernels));
  out_.notes.emplace_back("counted with the device's caches emptied before each pass, one kernel at a time");
  return {};
}

memory::profile cuda_profiler::finish() {
  const auto value = [&](const char* name) { return out_.signals.contains(name) ? out_.signals[name].value : 0.0; };
  // Recording slows launches down, so that gaps are told from calls without it. Without a timeline the counted kernels' times stand in.
  const bool timeline = out_.signals.contains("device_busy_ns");
  const double busy_ns = timeline ? value("device_busy_ns") : value("kernels") < most_profiled_kernels ? value("kernels_ns") : 0;
  if (value("call_ns") > 0 && busy_ns > 0)
    set("launch_gap_share", std::max(0.0, 1 - busy_ns / value("call_ns")), "fraction of a call", timeline ? "cupti" : "ncu");
  out_.axes = measured_.workloads.front().axes;
  out_.profiled_axes = out_.axes;
  out_.fingerprint = measured_.fingerprint;
  return std::move(out_);
}

}  // namespace

result<memory::profile> profile_kernel(const problem& p, const std::string& source, const memory::evaluation& measured,
                                       const harness::evaluator_options& options, const front_end& language) {
  if (measured.workloads.empty()) return fail(fault::bug, "a profile needs a timed evaluation");
  auto on = device::open();
  if (!on) return tl::unexpected(on.error());
  auto compiler = toolchain::discover(options.cache, (*on)->description().architecture, language);
  if (!compiler) return tl::unexpected(compiler.error());
  auto built = compiler->build_candidate(source, options.build_timeout_s, harness::link_flags_of(p, "cuda"));
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) return fail(fault::bad_request, fmt::format("the source does not build: {}", built->detail));
  auto folder = harness::profile_folder::create(p, p.workloads.front().axes, options.seed, options.cache / "work");
  if (!folder) return tl::unexpected(folder.error());
  // Longer than any one piece of others' work. Counters can't be shared, and what is timed beside a profiler means nothing.
  harness::lease_terms terms;
  terms.stop = options.stop;
  const auto hold = harness::device_lease::acquire((*on)->description().uuid, terms);
  if (!hold) return tl::unexpected(hold.error());
  cuda_profiler profiler(measured, **on);
  profiler.take_roofline();
  profiler.take_resources(built->log);
  harness::profile_run_spec spec = profiler.run_spec(built->library, options);
  if (const fs::path vendor = compiler->library_folder(); !vendor.empty() && !vendor.string().starts_with("/usr/"))
    spec.readable.push_back(vendor);
  if (auto done = profiler.time_calls(*folder, spec); !done) return tl::unexpected(done.error());
  if (auto done = profiler.record_timeline(*folder, spec); !done) return tl::unexpected(done.error());
  if (options.stop != nullptr && options.stop->load()) return fail(fault::interrupted, "stopped while a kernel was profiled");
  if (auto done = profiler.count(*folder, spec); !done) return tl::unexpected(done.error());
  if (options.stop != nullptr && options.stop->load()) return fail(fault::interrupted, "stopped while a kernel was profiled");
  return profiler.finish();
}

}  // namespace kernsmith::cuda
