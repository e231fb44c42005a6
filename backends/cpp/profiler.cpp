#include "backends/cpp/profiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "backends/cpp/hardware_counters.hpp"
#include "backends/cpp/machine_facts.hpp"
#include "backends/cpp/profile_assembly.hpp"
#include "backends/cpp/profile_callgrind.hpp"
#include "backends/cpp/profile_core_facts.hpp"
#include "backends/cpp/profile_mca.hpp"
#include "backends/cpp/profile_samples.hpp"
#include "backends/cpp/toolchain.hpp"
#include "backends/cpp/verification.hpp"
#include "backends/cpp/work_model.hpp"
#include "backends/harness/find_tool.hpp"
#include "backends/harness/profile_run.hpp"

namespace kernsmith::cpp {

namespace fs = std::filesystem;

namespace {

constexpr double sampling_s = 2.0, one_thread_s = 0.5;
constexpr double native_timeout_s = 60;
constexpr double tool_timeout_s = 30;
constexpr std::size_t least_samples = 50;
constexpr int max_halvings = 40;
constexpr double caches_overflown = 2;  // working set over second-level cache from where traffic beyond it tells something
constexpr int simulated_calls = 2;      // one that warms the simulated caches, one that is counted
/// Valgrind 3.19 to 3.2x decode no AVX-512.
const char* const simulated_march = "-march=x86-64-v3";
const char* const profilers_remedy = "scripts/setup --with profilers";

class cpu_profiler {
 public:
  cpu_profiler(const problem& p, const std::string& source, const memory::evaluation& measured, const harness::evaluator_options& options,
               toolchain compiler)
      : problem_(p), source_(source), measured_(measured), options_(options), compiler_(std::move(compiler)) {
    if (options_.cores.empty()) options_.cores = usable_cores();
    axes_ = p.workloads.front().axes;
    scratch_ = options_.cache / "work";
  }
  result<memory::profile> run();

 private:
  void take_roofline();
  result<void> run_native();
  void explain_by_model(const harness::profile_folder& folder, const fs::path& library);
  result<void> simulate();
  result<void> read_simulation(const fs::path& library, const harness::profile_folder& folder, const std::vector<std::int64_t>& axes);
  void note_simulation(const callgrind_profile& counted, const std::string& library, const workload_work& work);
  void read_code(const fs::path& library, const callgrind_profile& counted, const harness::profile_folder& folder);
  void model_loop(const hot_block& block, const harness::profile_folder& folder);
  /// The instructions of a library; nothing, and said so, where they can't be had.
  std::vector<instruction> disassemble(const fs::path& library, const harness::profile_folder& folder);
  void read_timed_code(const fs::path& library, const std::vector<harness::profile_sample>& samples, const harness::profile_folder& folder);
  [[nodiscard]] std::vector<std::int64_t> simulated_axes() const;
  /// Runs a tool of the system on files of the folder; its output is what it printed.
  result<std::string> run_tool(std::vector<std::string> command, const harness::profile_folder& folder, const fs::path& library);
  void set(const char* name, double value, const char* unit, const char* tool) {
    if (std::isfinite(value)) out_.signals[name] = {value, unit, tool};
  }
  void missing(std::string tool, std::string reason, std::string remedy) {
    out_.missing.push_back({std::move(tool), std::move(reason), std::move(remedy)});
  }

  const problem& problem_;
  const std::string& source_;
  const memory::evaluation& measured_;
  harness::evaluator_options options_;
  toolchain compiler_;
  fs::path scratch_;
  std::vector<std::int64_t> axes_;
  memory::profile out_;
  double one_thread_ns_ = 0;
};

void cpu_profiler::take_roofline() {
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

/// How much of a real call of the simulated build the model of its hottest loop accounts for. The model knows no cache misses: where it
/// explains little, busy units are not what the time goes to.
void cpu_profiler::explain_by_model(const harness::profile_folder& folder, const fs::path& library) {
  for (const char* needed : {"loop_ipc", "clock_ghz", "instructions", "kernel_instruction_share", "hot_block_share"}) {
    if (!out_.signals.contains(needed)) return;
  }
  harness::profile_run_spec spec;
  spec.stop = options_.stop;
  spec.library = library;
  spec.cores = {options_.cores.front()};
  spec.seconds = 0.2;
  const auto report = harness::run_for_profile(folder, spec);
  if (!report) return;
  const auto value = [&](const char* name) { return out_.signals[name].value; };
  const double loop_instructions = value("instructions") * value("kernel_instruction_share") * value("hot_block_share");
  set("modelled_share", loop_instructions / value("loop_ipc") / value("clock_ghz") / report->call_ns, "fraction of a call", "llvm-mca");
}

/// The library as it is timed: all threads with samples, then one thread alone.
result<void> cpu_profiler::run_native() {
  auto built = compiler_.build(source_);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) return fail(fault::bad_request, fmt::format("the source does not build: {}", built->detail));
  auto folder = harness::profile_folder::create(problem_, axes_, options_.seed, scratch_);
  if (!folder) return tl::unexpected(folder.error());
  harness::profile_run_spec spec;
  spec.stop = options_.stop;
  spec.library = built->library;
  spec.cores = options_.cores;
  spec.seconds = sampling_s;
  spec.sample = true;
  spec.timeout_s = native_timeout_s;
  auto all = harness::run_for_profile(*folder, spec);
  if (!all) return tl::unexpected(error{all.error().kind, "the kernel by itself: " + all.error().message});
  const auto threads = static_cast<double>(options_.cores.size());
  set("threads", threads, "threads", "request");
  set("idle_share", std::max(0.0, 1 - all->cpu_ns / (threads * all->wall_ns)), "fraction", "inside clock");
  const sample_summary where = summarise(all->samples, built->library.string(), options_.cores.size());
  set("samples", where.count, "samples", "sampler");
  if (where.count >= static_cast<double>(least_samples)) {
    set("kernel_code_share", where.kernel, "fraction", "sampler");
    set("thread_runtime_share", where.runtime, "fraction", "sampler");
    set("math_library_share", where.math, "fraction", "sampler");
    set("c_library_share", where.memory, "fraction", "sampler");
    if (options_.cores.size() > 1) set("thread_imbalance", where.imbalance, "fraction", "sampler");
    read_timed_code(built->library, all->samples, *folder);
  } else {
    missing("sampler", fmt::format("only {:.0f} samples of {:.0f} s were taken", where.count, sampling_s), "");
  }
  spec.sample = false;
  spec.seconds = one_thread_s;
  spec.cores = {options_.cores.front()};
  auto one = harness::run_for_profile(*folder, spec);
  if (!one) return tl::unexpected(error{one.error().kind, "the kernel with one thread: " + one.error().message});
  one_thread_ns_ = one->call_ns;
  set("one_thread_ns", one->call_ns, "ns", "inside clock");
  if (options_.cores.size() > 1) {
    set("parallel_speedup", one->call_ns / all->call_ns, "times", "inside clock");
    set("parallel_efficiency", one->call_ns / all->call_ns / threads, "fraction", "inside clock");
  }
  return {};
}

/// The workload, or the same with its largest axes halved until a simulated call is short enough.
std::vector<std::int64_t> cpu_profiler::simulated_axes() const {
  std::vector<std::int64_t> axes = axes_;
  const double all_flops = std::max(work_of(problem_, axes_).flops, 1.0);
  double expected_s = one_thread_ns_ * 1e-9;
  for (int halving = 0; halving < max_halvings && expected_s > simulated_call_s; ++halving) {
    std::vector<std::int64_t> smaller = axes;
    const auto largest = std::max_element(smaller.begin(), smaller.end());
    if (largest == smaller.end() || *largest <= 1) break;
    *largest = (*largest + 1) / 2;
    if (!check_axes(problem_, smaller)) break;
    const double share = problem_.statements.empty() ? std::pow(0.5, halving + 1) : work_of(problem_, smaller).flops / all_flops;
    axes = smaller;
    expected_s = one_thread_ns_ * 1e-9 * share;
  }
  return axes;
}

result<std::string> cpu_profiler::run_tool(std::vector<std::string> command, const harness::profile_folder& folder,
                                           const fs::path& library) {
  harness::sandbox_spec box;
  box.command = std::move(command);
  box.read_only = {folder.inputs(), library};
  box.writable = {{folder.output(), harness::profile_output_inside}};
  box.environment = {{"PATH", "/usr/bin:/bin"}, {"LC_ALL", "C"}, {"HOME", "/tmp"}};
  auto ran = harness::run_sandboxed(box, tool_timeout_s, options_.stop);
  if (!ran) return tl::unexpected(ran.error());
  if (ran->exit_status != 0 || ran->timed_out)
    return fail(fault::bad_request,
                fmt::format("{}: exit status {}: {}", box.command.front(), ran->exit_status, ran->output.substr(0, 300)));
  return ran->output;
}

void cpu_profiler::note_simulation(const callgrind_profile& counted, const std::string& library, const workload_work& work) {
  const event_counts& all = counted.total;
  const double accesses = all.reads + all.writes;
  const cache_geometry second = simulatable(describe_caches().caches.second);
  const auto line = static_cast<double>(second.line_bytes);
  set("instructions", all.instructions, "per call", "callgrind");
  if (work.flops > 0) set("instructions_per_operation", all.instructions / work.flops, "instructions/operation", "callgrind");
  if (accesses > 0) set("l1_miss_rate", (all.read_misses + all.write_misses) / accesses, "fraction of accesses", "callgrind");
  if (work.bytes > 0) {
    set("l1_traffic_ratio", (all.read_misses + all.write_misses) * line / work.bytes, "times the definition's bytes", "callgrind");
    if (work.bytes > caches_overflown * static_cast<double>(second.bytes))
      set("l2_traffic_ratio", (all.deep_read_misses + all.deep_write_misses) * line / work.bytes, "times the definition's bytes",
          "callgrind");
  }
  set("code_misses", 1000 * all.instruction_misses / all.instructions, "per 1000 instructions", "callgrind");
  set("branch_mispredictions", 1000 * all.mispredicted / all.instructions, "per 1000 instructions", "callgrind");
  event_counts math, kernel;
  for (const auto& [object, counts] : counted.objects) {
    if (owner_of(object, library) == code_owner::math) math += counts;
    if (owner_of(object, library) == code_owner::kernel) kernel += counts;
  }
  set("kernel_instruction_share", kernel.instructions / all.instructions, "fraction", "callgrind");
  set("math_instruction_share", math.instructions / all.instructions, "fraction", "callgrind");
  double regions = 0;
  for (const auto& [function, count] : counted.calls) {
    if (function.rfind("GOMP_parallel", 0) == 0) regions += count;
  }
  // Calls are noted whether or not they are counted in, the warm one too.
  set("parallel_regions", regions / simulated_calls, "per call", "callgrind");
}

void cpu_profiler::model_loop(const hot_block& block, const harness::profile_folder& folder) {
  const auto tool = harness::find_tool("llvm-mca");
  if (!tool) {
    missing("llvm-mca", "not installed: no model of the hottest loop", profilers_remedy);
    return;
  }
  if (std::any_of(block.code.begin(), block.code.end(), [](const instruction& i) { return i.mnemonic.starts_with("call"); }))
    out_.notes.emplace_back("the hottest loop calls functions; the processor model leaves them out");
  std::ofstream(folder.inputs() / "block.s") << block_assembly(block);
  auto text = run_tool(mca_command(*tool, (folder.inputs() / "block.s").string()), folder, folder.inputs() / "block.s");
  auto report = text ? parse_mca(*text) : tl::unexpected(text.error());
  if (!report) {
    missing("llvm-mca", "it could not model the hottest loop: " + report.error().message, "");
    return;
  }
  set("loop_cycles", report->cycles_per_iteration, "cycles/iteration", "llvm-mca");
  set("loop_ipc", report->ipc, "instructions/cycle", "llvm-mca");
  set("loop_throughput_cycles", report->throughput_cycles, "cycles/iteration", "llvm-mca");
  set("loop_dependency_share", std::max(0.0, 1 - report->throughput_cycles / report->cycles_per_iteration), "fraction of cycles",
      "llvm-mca");
  set("loop_busiest_port_share", report->busiest_port_share, "fraction of cycles", "llvm-mca");
  if (!report->busiest_port.empty()) out_.notes.push_back(fmt::format("busiest resource of the hottest loop: {}", report->busiest_port));
}

std::vector<instruction> cpu_profiler::disassemble(const fs::path& library, const harness::profile_folder& folder) {
  const auto objdump = harness::find_tool("objdump");
  if (!objdump) {
    missing("objdump", "not installed: the kernel's instructions were not looked at", "apt-get install binutils");
    return {};
  }
  // Into a file: what a command prints is kept in part only.
  const std::string listing = std::string(harness::profile_output_inside) + "/listing";
  auto ran = run_tool({"/bin/sh", "-c", "exec \"$0\" -d --no-show-raw-insn \"$1\" > \"$2\"", objdump->string(), library.string(), listing},
                      folder, library);
  if (!ran) {
    missing("objdump", ran.error().message, "");
    return {};
  }
  std::ifstream file(folder.output() / "listing");
  return parse_disassembly(std::string(std::istreambuf_iterator<char>(file), {}));
}

/// The loop of the library that is timed in which most samples fall. Other than the simulated one it has this machine's widest vectors and
/// all its registers, so spills are counted here.
void cpu_profiler::read_timed_code(const fs::path& library, const std::vector<harness::profile_sample>& samples,
                                   const harness::profile_folder& folder) {
  execution_counts counts;
  for (const harness::profile_sample& s : samples) {
    if (s.object == library.string()) counts[s.offset] += static_cast<double>(s.count);
  }
  const hot_block block = find_hot_block(disassemble(library, folder), counts, counted_by::samples);
  if (block.code.empty()) return;
  const instruction_mix mix = mix_of(block.code, once_each(block));
  set("hot_block_time_share", block.share, "fraction of the kernel's samples", "sampler");
  set("stack_access_share", mix.stack_accesses, "fraction of the hottest block", "objdump");
  set("gather_share", mix.gathers, "fraction of the hottest block", "objdump");
  out_.hot_code = block_text(block);
}

/// What the executed instructions are, and the loop that most of them are in.
void cpu_profiler::read_code(const fs::path& library, const callgrind_profile& counted, const harness::profile_folder& folder) {
  const std::vector<instruction> code = disassemble(library, folder);
  const auto executed = counted.instructions.find(library.string());
  if (code.empty() || executed == counted.instructions.end()) return;
  const instruction_mix mix = mix_of(code, executed->second);
  set("float_instruction_share", mix.packed_float + mix.scalar_float, "fraction", "callgrind");
  if (mix.packed_float + mix.scalar_float > 0) set("vector_share", mix.vector_share(), "fraction of float arithmetic", "callgrind");
  set("memory_instruction_share", mix.loads_and_stores, "fraction", "callgrind");
  set("division_share", mix.divisions, "fraction", "callgrind");
  set("branch_share", mix.branches, "fraction", "callgrind");
  const hot_block block = find_hot_block(code, executed->second);
  if (block.code.empty()) return;
  set("hot_block_share", block.share, "fraction of the kernel's instructions", "callgrind");
  if (out_.hot_code.empty()) out_.hot_code = block_text(block);
  if (block.loop) return model_loop(block, folder);
  missing("llvm-mca", "the kernel's hottest code is no loop", "");
}

result<void> cpu_profiler::read_simulation(const fs::path& library, const harness::profile_folder& folder,
                                           const std::vector<std::int64_t>& axes) {
  std::ifstream file(folder.output() / "callgrind");
  auto counted = parse_callgrind(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!counted) {
    missing("callgrind", counted.error().message, "");
    return {};
  }
  note_simulation(*counted, library.string(), work_of(problem_, axes));
  read_code(library, *counted, folder);
  return {};
}

result<void> cpu_profiler::simulate() {
  const auto valgrind = harness::find_tool("valgrind");
  if (!valgrind) {
    missing("valgrind", "not installed: no instruction counts, no simulated caches, no hottest loop", profilers_remedy);
    return {};
  }
  const bool lowered = instruction_level() == "x86-64-v4";
  auto built = compiler_.build(source_, lowered ? std::vector<std::string>{simulated_march} : std::vector<std::string>{});
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) {
    missing("callgrind", fmt::format("the source does not build without AVX-512, which valgrind does not know: {}", built->detail), "");
    return {};
  }
  const std::vector<std::int64_t> axes = simulated_axes();
  auto folder = harness::profile_folder::create(problem_, axes, options_.seed, scratch_);
  if (!folder) return tl::unexpected(folder.error());
  const cache_description caches = describe_caches();
  harness::profile_run_spec spec;
  spec.stop = options_.stop;
  spec.library = built->library;
  spec.cores = {options_.cores.front()};
  spec.wrapper =
      callgrind_command(*valgrind, caches.caches, "kernsmith_profiled_call", std::string(harness::profile_output_inside) + "/callgrind");
  spec.warm_calls = simulated_calls - 1;
  spec.calls = 1;
  spec.timeout_s = simulation_timeout_s;
  auto ran = harness::run_for_profile(*folder, spec);
  for (std::size_t a = 0; a < axes.size(); ++a) out_.profiled_axes[problem_.axes[a].name] = axes[a];
  if (!ran) {
    if (ran.error().kind != fault::bad_request) return tl::unexpected(ran.error());
    missing("callgrind", "the simulated run failed: " + ran.error().message, "");
    return {};
  }
  if (axes != axes_)
    out_.notes.push_back(fmt::format("simulated on a smaller shape, {}: the workload would take too long", axes_text(problem_, axes)));
  if (lowered) out_.notes.push_back(fmt::format("simulated and modelled as built with {}: valgrind knows no AVX-512", simulated_march));
  out_.notes.push_back(fmt::format("simulated with one thread; caches {} KiB and {} KiB{}", caches.caches.data.bytes >> 10,
                                   caches.caches.second.bytes >> 10, caches.assumed ? " (assumed: the system does not say)" : ""));
  if (auto done = read_simulation(built->library, *folder, axes); !done) return done;
  explain_by_model(*folder, built->library);
  return {};
}

result<memory::profile> cpu_profiler::run() {
  take_roofline();
  if (auto done = run_native(); !done) return tl::unexpected(done.error());
  const auto core = measure_core_facts(compiler_, options_.cores, scratch_);
  if (!core) return tl::unexpected(core.error());
  set("fork_join_ns", core->fork_join_ns, "ns", "inside clock");
  if (core->clock_ghz > 0) set("clock_ghz", core->clock_ghz, "GHz", "inside clock");
  if (options_.stop != nullptr && options_.stop->load()) return fail(fault::interrupted, "stopped while a kernel was profiled");
  if (auto done = simulate(); !done) return tl::unexpected(done.error());
  // A tool that was killed is not one that is missing.
  if (options_.stop != nullptr && options_.stop->load()) return fail(fault::interrupted, "stopped while a kernel was profiled");
  const double regions = out_.signals.contains("parallel_regions") ? out_.signals["parallel_regions"].value : 1;
  if (out_.time_ns > 0 && options_.cores.size() > 1)
    set("fork_join_share", std::min(1.0, regions * out_.signals["fork_join_ns"].value / out_.time_ns), "fraction", "inside clock");
  const counter_access counters = probe_hardware_counters();
  missing("perf", counters.reason, counters.remedy);
  out_.axes = measured_.workloads.front().axes;
  out_.fingerprint = measured_.fingerprint;
  return std::move(out_);
}

}  // namespace

result<memory::profile> profile_kernel(const problem& p, const std::string& source, const memory::evaluation& measured,
                                       const harness::evaluator_options& options) {
  if (measured.workloads.empty()) return fail(fault::bug, "a profile needs a timed evaluation");
  auto compiler = toolchain::discover(options.cache);
  if (!compiler) return tl::unexpected(compiler.error());
  return cpu_profiler(p, source, measured, options, std::move(*compiler)).run();
}

std::vector<profiling_tool> find_profiling_tools() {
  std::vector<profiling_tool> all;
  for (const auto& [name, use] : {std::pair<const char*, const char*>{"valgrind", "instruction counts and simulated caches"},
                                  {"llvm-mca", "a processor model of the hottest loop"},
                                  {"objdump", "which instructions are executed"}}) {
    const auto found = harness::find_tool(name);
    all.push_back({name, found.has_value(), found ? found->string() : use, found ? "" : profilers_remedy});
  }
  const counter_access counters = probe_hardware_counters();
  all.push_back({"hardware counters", counters.readable, counters.reason, counters.remedy});
  return all;
}

}  // namespace kernsmith::cpp
