#include "backends/cuda/workbench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/cpp/machine_facts.hpp"
#include "backends/cuda/cublas_source.hpp"
#include "backends/cuda/reference_source.hpp"
#include "backends/harness/hosted_kernels.hpp"
#include "backends/harness/permitted_libraries.hpp"
#include "config/hash.hpp"

namespace kernsmith::cuda {

namespace {

constexpr double trusted_timeout_s = 120;
constexpr double device_code_build_timeout_s = 180;
constexpr std::size_t max_timing_bytes = std::size_t{24} << 30;  // one workload, both legs
constexpr std::size_t free_share = 3;                            // and never more than one part in so many of what is free

std::string reason_of(const built_kernel& built) {
  return built.detail.empty() ? built.outcome : fmt::format("{}: {}", built.outcome, built.detail);
}

}  // namespace

result<std::unique_ptr<workbench>> workbench::open(const problem& p, const evaluator_options& options,
                                                   std::shared_ptr<const candidate_language> language) {
  evaluator_options complete = options;
  if (complete.cores.empty()) complete.cores = cpp::usable_cores();
  std::unique_ptr<workbench> bench(new workbench(p, complete));
  bench->language_ = std::move(language);
  for (const auto step : {&workbench::find_compiler, &workbench::build_trusted_code, &workbench::load_trusted_code,
                          &workbench::find_permitted_libraries, &workbench::build_references, &workbench::build_baselines}) {
    if (auto done = ((*bench).*step)(); !done) return tl::unexpected(done.error());
  }
  for (const workload& declared : bench->problem_.workloads) {
    auto made = bench->make_workload(fmt::format("workload {}", axes_text(bench->problem_, declared.axes)), declared.axes, declared.weight);
    if (!made) return tl::unexpected(made.error());
    bench->workloads_.push_back(std::move(*made));
    if (bench->stopped()) return fail(fault::interrupted, "stopped while the reference was computed");
  }
  return bench;
}

result<void> workbench::find_compiler() {
  const auto found = describe_device();
  if (!found) return tl::unexpected(found.error());
  auto compiler = toolchain::discover(options_.cache, found->architecture, language_ ? language_->compiled_with() : front_end{});
  if (!compiler) return tl::unexpected(compiler.error());
  toolchain_ = std::move(*compiler);
  return {};
}

/// Before the device is touched: a toolkit that can't build for it is told from it at once.
result<void> workbench::build_trusted_code() {
  auto built = toolchain_->build_device_code(trusted_kernels_text(), device_code_build_timeout_s);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) {
    return fail(fault::missing_here,
                fmt::format("{} can't build for this device ({}): {}; a toolkit that knows the device is needed, named in KERNSMITH_NVCC "
                            "or first on the PATH\n{}",
                            toolchain_->compiler(), toolchain_->flags(), reason_of(*built), built->log));
  }
  trusted_code_ = built->library;
  return {};
}

result<void> workbench::load_trusted_code() {
  auto opened = device::open();
  if (!opened) return tl::unexpected(opened.error());
  device_ = *opened;
  if (auto current = device_->make_current(); !current) return current;
  auto loaded = trusted_kernels::load(device_, trusted_code_);
  if (!loaded) return tl::unexpected(loaded.error());
  trusted_ = std::move(*loaded);
  return trusted_->noop();
}

result<built_kernel> workbench::build(const std::string& source, const std::vector<std::string>& extra_flags,
                                      const std::vector<std::string>& link_flags) {
  auto built = toolchain_->build(source, extra_flags, link_flags, options_.build_timeout_s);
  if (built) {
    const std::lock_guard lock(build_mutex_);
    build_s_ += built->build_s;
  }
  return built;
}

result<built_kernel> workbench::build_candidate(const std::string& source) {
  auto by_itself = language_ ? language_->build(source, options_.build_timeout_s) : std::nullopt;
  auto built = by_itself ? std::move(*by_itself)
                         : toolchain_->build_candidate(source, options_.build_timeout_s, harness::link_flags_of(problem_, "cuda"));
  if (built && language_ && built->outcome.empty()) {
    if (auto completed = language_->complete(source, *built, options_.build_timeout_s); !completed)
      return tl::unexpected(completed.error());
  }
  if (built) {
    const std::lock_guard lock(build_mutex_);
    build_s_ += built->build_s;
  }
  return built;
}

result<void> workbench::find_permitted_libraries() {
  const std::string probe = harness::library_probe_source(problem_, "cuda");
  if (probe.empty()) return {};
  auto built = build(probe, {}, harness::link_flags_of(problem_, "cuda"));
  if (!built) return tl::unexpected(built.error());
  if (built->outcome.empty()) return {};
  return fail(fault::missing_here, fmt::format("{}: a library that [candidates] permits is not installed here: {}", problem_.path.string(),
                                               harness::library_remedy(problem_, "cuda")));
}

double workbench::build_s() const {
  const std::lock_guard lock(build_mutex_);
  return build_s_;
}

std::uint64_t workbench::entropy() {
  if (options_.unpredictable) {
    std::random_device source;
    return (static_cast<std::uint64_t>(source()) << 32) ^ source();
  }
  return derive_seed(options_.seed, fmt::format("timed contents {}", entropy_calls_++));
}

harness::runner_options workbench::runner() const {
  harness::runner_options runner;
  runner.cores = options_.cores;
  runner.accelerator = device_->access();
  runner.environment = device_->environment();
  runner.memory_limit_bytes = options_.memory_limit_bytes;
  const std::filesystem::path folder = device_->access().driver.parent_path();
  for (const std::filesystem::path& needed : {folder, toolchain_->library_folder()}) {
    if (!needed.empty() && !needed.string().starts_with("/usr/") && !needed.string().starts_with("/lib")) runner.readable.push_back(needed);
  }
  return runner;
}

result<kernel_process> workbench::start(const std::filesystem::path& library, bool trusted) {
  harness::runner_options options = runner();
  options.library = library;
  options.trusted = trusted;
  if (language_) language_->prepare(options);
  if (options_.hosted) options_.hosted->prepare(options);
  if (!options.host.empty()) return kernel_process::start(options, clock_);
  while (!vacant_.empty()) {
    harness::vacant_runner ready = std::move(vacant_.front());
    vacant_.pop_front();
    auto started = kernel_process::start(ready, library, clock_);
    // What befell a runner before it had the library is nobody's doing: another is started.
    if (started || started.error().kind == fault::bad_request) return timed_as_asked(std::move(started));
  }
  return timed_as_asked(kernel_process::start(options, clock_));
}

result<kernel_process> workbench::timed_as_asked(result<kernel_process> started) const {
  if (started && problem_.replay == replay_mode::graph) started->replay_graphs();
  return started;
}

void workbench::begin_runners(std::size_t count) {
  while (vacant_.size() < count) {
    auto begun = harness::vacant_runner::begin(runner());
    if (!begun) return;  // whoever needs one is told why
    vacant_.push_back(std::move(*begun));
  }
}

void workbench::settle_runners() {
  std::erase_if(vacant_, [](harness::vacant_runner& runner) { return !runner.settle(); });
}

result<void> workbench::weigh_runner() {
  const auto before = device_->free_bytes();
  if (!before) return tl::unexpected(before.error());
  begin_runners(vacant_.size() + 1);
  settle_runners();
  const auto after = device_->free_bytes();
  if (!after) return tl::unexpected(after.error());
  runner_bytes_ = *before - std::min(*before, *after);
  return {};
}

result<kernel_process*> workbench::process_of(trusted_kernel& kernel) {
  if (!kernel.process || !kernel.process->alive()) {
    auto started = start(kernel.built.library, true);
    if (!started) return tl::unexpected(started.error());
    kernel.process = std::move(*started);
  }
  return &*kernel.process;
}

result<kernel_process*> workbench::process_of_champion() {
  if (!champion_.process || !champion_.process->alive()) {
    auto started = start(champion_.library, false);
    if (!started) return tl::unexpected(started.error());
    champion_.process = std::move(*started);
  }
  return &*champion_.process;
}

result<trusted_kernel> workbench::build_trusted(std::string name, const std::string& source, const std::string& origin,
                                                const std::vector<std::string>& extra_flags, const std::vector<std::string>& link_flags) {
  auto built = build(source, extra_flags, link_flags);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty())
    return fail(fault::bad_request, fmt::format("{} does not build: {}\n{}", origin, reason_of(*built), built->log));
  trusted_kernel kernel;
  kernel.name = std::move(name);
  kernel.built = std::move(*built);
  return kernel;
}

result<void> workbench::build_references() {
  auto host = host_reference::build(problem_, options_, clock_);
  if (!host) return tl::unexpected(host.error());
  host_reference_ = std::move(*host);
  build_s_ += host_reference_->build_s();
  if (problem_.reference && problem_.reference->language == "python" && options_.hosted) {
    auto built = options_.hosted->reference(problem_, true);
    if (!built) return tl::unexpected(built.error());
    reference_.emplace();
    reference_->name = "reference";
    reference_->built = std::move(*built);
    reference_->form = output_form::wide;
    return {};
  }
  if (problem_.reference) return {};
  const auto source = reference_source(problem_);
  if (!source) return tl::unexpected(source.error());
  auto kernel = build_trusted("reference", *source, "the generated reference", generated_flags());
  if (!kernel) return tl::unexpected(error{fault::bug, kernel.error().message});
  reference_ = std::move(*kernel);
  reference_->form = output_form::wide;
  return {};
}

result<void> workbench::build_baselines() {
  std::string refused;
  for (const baseline_spec& spec : problem_.baselines) {
    result<trusted_kernel> kernel;
    if (options_.hosted && harness::is_hosted(spec)) {
      auto built = options_.hosted->baseline(problem_, spec, true);
      if (!built) return tl::unexpected(built.error());
      kernel = trusted_kernel{spec.name, std::move(*built), output_form::native, std::nullopt};
    } else if (spec.source && language_ && spec.source->language == language_->name()) {
      kernel = build_trusted(spec.name, spec.source->text, spec.source->path.string(), language_->compiled_with().flags);
    } else if (spec.source && spec.source->language == "cuda") {
      kernel = build_trusted(spec.name, spec.source->text, spec.source->path.string());
    } else if (spec.builtin == "naive" && !problem_.statements.empty()) {
      const auto source = naive_source(problem_);
      if (!source) return tl::unexpected(source.error());
      kernel = build_trusted(spec.name, *source, "the generated naive baseline", generated_flags());
    } else if (spec.builtin == "cublas") {
      const auto source = cublas_source(problem_);
      if (!source) return tl::unexpected(source.error());
      kernel = build_trusted(spec.name, *source, "the cuBLAS baseline", {}, {"-lcublas"});
    } else {
      // A problem may name baselines for several targets; each takes those that it can run.
      refused += (refused.empty() ? "" : ", ") + spec.name;
      continue;
    }
    if (!kernel) return tl::unexpected(kernel.error());
    baselines_.push_back(std::move(*kernel));
  }
  if (!baselines_.empty()) return {};
  if (problem_.statements.empty()) {
    return fail(fault::bad_request,
                fmt::format("{}: none of the baselines ({}) can run on target cuda, and without a definition there is no "
                            "\"naive\" one; give a baseline in CUDA (a .cu source)",
                            problem_.path.string(), refused));
  }
  const auto source = naive_source(problem_);
  if (!source) return tl::unexpected(source.error());
  auto kernel = build_trusted("naive", *source, "the generated naive baseline", generated_flags());
  if (!kernel) return tl::unexpected(kernel.error());
  baselines_.push_back(std::move(*kernel));
  return {};
}

result<void> workbench::grow_timing_buffers(workload_state& w, std::size_t count, bool anew) {
  const std::size_t have = w.timing.candidate.size();
  if (have >= count && !anew) return {};
  for (trusted_kernel& baseline : baselines_) {
    if (!baseline.process || !baseline.process->alive()) continue;
    if (auto forgotten = baseline.process->forget_sets(); !forgotten) return forgotten;
  }
  if (champion_.process && champion_.process->alive()) {
    if (auto forgotten = champion_.process->forget_sets(); !forgotten) return forgotten;
  }
  w.timing = {};
  auto free = device_->free_bytes();
  if (!free) return tl::unexpected(free.error());
  const std::size_t one = std::max<std::size_t>(2 * cpp::buffer_bytes(problem_, w.main.axes, output_form::native), 1);
  const std::size_t affordable = std::max<std::size_t>(std::min(max_timing_bytes, *free / free_share) / one, 1);
  for (auto* side : {&w.timing.candidate, &w.timing.trusted}) {
    auto made = make_packed_buffers(device_, problem_, w.main.axes, std::min(std::max(count, have), affordable));
    if (!made) return tl::unexpected(made.error());
    *side = std::move(*made);
  }
  return {};
}

result<device_buffers*> workbench::reference_set(workload_state& w) {
  if (!w.reference_set) {
    auto made = make_device_buffers(device_, problem_, w.main.axes, harness::guard_side::after, output_form::wide);
    if (!made) return tl::unexpected(made.error());
    w.reference_set = std::move(*made);
  }
  return w.reference_set.get();
}

result<std::unique_ptr<workload_state>> workbench::make_workload(std::string what, const std::vector<std::int64_t>& axes, double weight) {
  auto free = device_->free_bytes();
  if (!free) return tl::unexpected(free.error());
  const std::size_t bytes =
      2 * cpp::buffer_bytes(problem_, axes, output_form::wide) + 3 * cpp::buffer_bytes(problem_, axes, output_form::native);
  if (bytes > *free) {
    return fail(fault::bad_request, fmt::format("{}: {} needs {} GB of device memory for inputs, outputs and reference; {} GB are free",
                                                problem_.path.string(), what, (bytes >> 30) + 1, *free >> 30));
  }
  auto w = std::make_unique<workload_state>();
  auto main = make_case(std::move(what), axes, content::as_declared, options_.seed, false);
  if (!main) return tl::unexpected(main.error());
  w->main = std::move(*main);
  w->weight = weight;
  for (std::size_t a = 0; a < problem_.axes.size(); ++a) w->axis_names[problem_.axes[a].name] = axes[a];
  auto verified = make_device_buffers(device_, problem_, axes, harness::guard_side::after, output_form::native);
  if (!verified) return tl::unexpected(verified.error());
  w->verified = std::move(*verified);
  if (auto same = check_reference_against_itself(*w); !same) return tl::unexpected(same.error());
  if (auto grown = grow_timing_buffers(*w, 1); !grown) return tl::unexpected(grown.error());
  return w;
}

}  // namespace kernsmith::cuda
