#include "backends/cpp/workbench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "backends/cpp/blas_source.hpp"
#include "backends/cpp/reference_source.hpp"
#include "backends/harness/hosted_kernels.hpp"
#include "backends/harness/permitted_libraries.hpp"
#include "config/hash.hpp"

namespace kernsmith::cpp {

namespace {

/// The reference and the baselines may be slow, but not for ever.
constexpr double trusted_timeout_s = 600;
constexpr std::size_t max_timing_bytes = std::size_t{3} << 30;    // of all workloads together, beyond one set each
constexpr std::size_t max_timing_descriptors = 600;               // one per tensor and set
constexpr std::size_t max_problem_bytes = std::size_t{24} << 30;  // one workload: reference, candidate and baseline sides together

std::string reason_of(const built_kernel& built) {
  return built.detail.empty() ? built.outcome : fmt::format("{}: {}", built.outcome, built.detail);
}

}  // namespace

result<std::unique_ptr<workbench>> workbench::open(const problem& p, const evaluator_options& options,
                                                   std::unique_ptr<candidate_language> language) {
  evaluator_options complete = options;
  if (complete.cores.empty()) complete.cores = usable_cores();
  std::unique_ptr<workbench> bench(new workbench(p, complete));
  auto compiler = toolchain::discover(options.cache);
  if (!compiler) return tl::unexpected(compiler.error());
  bench->toolchain_ = std::move(*compiler);
  bench->language_ = std::move(language);
  bench->facts_ = read_machine_facts();
  if (auto done = bench->find_permitted_libraries(); !done) return tl::unexpected(done.error());
  if (auto done = bench->build_reference(); !done) return tl::unexpected(done.error());
  if (auto done = bench->build_baselines(); !done) return tl::unexpected(done.error());
  if (auto done = bench->prepare_workloads(); !done) return tl::unexpected(done.error());
  return bench;
}

result<built_kernel> workbench::build(const std::string& source, const std::vector<std::string>& link_flags) {
  auto built = toolchain_->build(source, {}, link_flags, options_.build_timeout_s);
  if (built) {
    const std::lock_guard lock(build_mutex_);
    build_s_ += built->build_s;
  }
  return built;
}

result<built_kernel> workbench::build_candidate(const std::string& source, const std::vector<std::string>& link_flags) {
  if (!language_) return build(source, link_flags);
  auto built = language_->build(source, options_.build_timeout_s);
  if (built) {
    const std::lock_guard lock(build_mutex_);
    build_s_ += built->build_s;
  }
  return built;
}

result<built_kernel> workbench::build_with(const std::string& source, const std::vector<std::string>& flags, std::string_view companion) {
  auto built = toolchain_->build(source, flags, harness::link_flags_of(problem_, "cpp"), options_.build_timeout_s, companion);
  if (built) {
    const std::lock_guard lock(build_mutex_);
    build_s_ += built->build_s;
  }
  return built;
}

double workbench::build_s() const {
  const std::lock_guard lock(build_mutex_);
  return build_s_;
}

std::uint64_t workbench::entropy() {
  if (options_.unpredictable) {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) ^ device();
  }
  return derive_seed(options_.seed, fmt::format("timed contents {}", entropy_calls_++));
}

harness::runner_options workbench::options_of_runner(const std::filesystem::path& library) const {
  harness::runner_options runner;
  runner.library = library;
  runner.cores = options_.cores;
  std::size_t largest = 0;
  for (const workload& w : problem_.workloads) largest = std::max(largest, buffer_bytes(problem_, w.axes, output_form::wide));
  // Beyond its buffers a kernel may take the default, or as much again as its largest workload needs: intermediates, packed copies.
  runner.memory_limit_bytes = std::max(options_.memory_limit_bytes, static_cast<std::int64_t>(4 * largest));
  return runner;
}

result<kernel_process> workbench::start(const std::filesystem::path& library, bool trusted,
                                        const std::vector<std::pair<std::string, std::string>>& environment) {
  harness::runner_options runner = options_of_runner(library);
  runner.trusted = trusted;
  runner.environment = environment;
  if (language_) language_->prepare(runner);
  if (options_.hosted) options_.hosted->prepare(runner);
  return kernel_process::start(runner, clock_);
}

result<kernel_process*> workbench::process_of(trusted_kernel& kernel) {
  if (!kernel.process || !kernel.process->alive()) {
    auto started = start(kernel.built.library, true, kernel.environment);
    if (!started) return tl::unexpected(started.error());
    kernel.process = std::move(*started);
  }
  return &*kernel.process;
}

result<kernel_process*> workbench::new_process_of(trusted_kernel& kernel) {
  if (kernel.process) {
    auto renewed = kernel.process->renew();
    if (!renewed) return tl::unexpected(renewed.error());
    if (*renewed) return &*kernel.process;
    kernel.process.reset();
  }
  return process_of(kernel);
}

result<trusted_kernel> workbench::build_trusted(std::string name, const std::string& source, const std::string& origin,
                                                const std::vector<std::string>& link_flags) {
  auto built = build(source, link_flags);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty())
    return fail(fault::bad_request, fmt::format("{} does not build: {}\n{}", origin, reason_of(*built), built->log));
  trusted_kernel kernel;
  kernel.name = std::move(name);
  kernel.built = std::move(*built);
  return kernel;
}

result<void> workbench::build_reference() {
  if (problem_.reference) {
    if (problem_.reference->language != "cpp" && options_.hosted) {
      auto built = options_.hosted->reference(problem_, false);
      if (!built) return tl::unexpected(built.error());
      reference_.name = "reference";
      reference_.built = std::move(*built);
      reference_.form = output_form::wide;
      return {};
    }
    if (problem_.reference->language != "cpp") {
      return fail(fault::bad_request,
                  fmt::format("{}: a reference in {} is not available for target cpp; give a definition or a C++ reference",
                              problem_.path.string(), problem_.reference->language));
    }
    auto kernel = build_trusted("reference", problem_.reference->text, problem_.reference->path.string());
    if (!kernel) return tl::unexpected(kernel.error());
    reference_ = std::move(*kernel);
    return {};
  }
  const auto source = reference_source(problem_);
  if (!source) return tl::unexpected(source.error());
  auto kernel = build_trusted("reference", *source, "the generated reference");
  if (!kernel) return tl::unexpected(error{fault::bug, kernel.error().message});
  reference_ = std::move(*kernel);
  reference_.form = output_form::wide;
  return {};
}

result<void> workbench::find_permitted_libraries() {
  const std::string probe = harness::library_probe_source(problem_, "cpp");
  if (probe.empty()) return {};
  auto built = build(probe, harness::link_flags_of(problem_, "cpp"));
  if (!built) return tl::unexpected(built.error());
  if (built->outcome.empty()) return {};
  return fail(fault::missing_here, fmt::format("{}: a library that [candidates] permits is not installed here: {}", problem_.path.string(),
                                               harness::library_remedy(problem_, "cpp")));
}

result<trusted_kernel> workbench::build_baseline(const baseline_spec& spec) {
  if (options_.hosted && harness::is_hosted(spec)) {
    auto built = options_.hosted->baseline(problem_, spec, false);
    if (!built) return tl::unexpected(built.error());
    trusted_kernel kernel;
    kernel.name = spec.name;
    kernel.built = std::move(*built);
    return kernel;
  }
  if (spec.source) {
    if (language_ && spec.source->language == language_->name()) {
      auto built = build_candidate(spec.source->text, {});
      if (!built) return tl::unexpected(built.error());
      if (!built->outcome.empty())
        return fail(fault::bad_request,
                    fmt::format("{} does not build: {}\n{}", spec.source->path.string(), reason_of(*built), built->log));
      trusted_kernel kernel;
      kernel.name = spec.name;
      kernel.built = std::move(*built);
      return kernel;
    }
    if (spec.source->language != "cpp") {
      return fail(fault::bad_request,
                  fmt::format("{}: baseline '{}' in {} is not available for target cpp; C++ sources, \"naive\" and \"openblas\" are",
                              problem_.path.string(), spec.name, spec.source->language));
    }
    return build_trusted(spec.name, spec.source->text, spec.source->path.string());
  }
  if (spec.builtin == "naive") {
    if (problem_.reference) return build_trusted(spec.name, problem_.reference->text, problem_.reference->path.string());
    const auto source = naive_source(problem_);
    if (!source) return tl::unexpected(source.error());
    return build_trusted(spec.name, *source, "the generated naive baseline");
  }
  if (spec.builtin == "openblas") {
    const auto source = blas_source(problem_);
    if (!source) return tl::unexpected(source.error());
    auto kernel = build_trusted(spec.name, *source, "the OpenBLAS baseline", {"-lopenblas"});
    if (!kernel) {
      if (kernel.error().message.find("openblas") == std::string::npos) return kernel;
      return fail(fault::missing_here, "the baseline needs OpenBLAS, which is not installed here: apt-get install libopenblas-dev");
    }
    kernel->environment = {{"OPENBLAS_NUM_THREADS", std::to_string(options_.cores.size())}};
    return kernel;
  }
  return fail(fault::bad_request,
              fmt::format("{}: builtin baseline \"{}\" is not available for target cpp; \"naive\", \"openblas\" and C++ sources are",
                          problem_.path.string(), spec.builtin));
}

result<void> workbench::build_baselines() {
  for (const baseline_spec& spec : problem_.baselines) {
    auto kernel = build_baseline(spec);
    if (!kernel) return tl::unexpected(kernel.error());
    baselines_.push_back(std::move(*kernel));
  }
  return {};
}

namespace {

/// One element in about 200 is taken from contents of large magnitude.
result<void> add_rare_large(const problem& p, int input, const std::vector<std::int64_t>& axes, std::uint64_t seed, std::byte* data) {
  constexpr std::int64_t rarity = 200;
  const tensor_declaration& t = p.tensors[static_cast<std::size_t>(input)];
  const std::int64_t elements = element_count(shape_of(t, axes));
  const std::size_t size = size_of(t.type);
  std::vector<std::byte> large(static_cast<std::size_t>(elements) * size);
  if (auto filled = fill_input(p, input, axes, seed, content::large_magnitude, large.data()); !filled) return filled;
  std::mt19937_64 engine(seed);
  for (std::int64_t i = 0; i < elements; ++i) {
    if (engine() % rarity == 0)
      std::memcpy(data + static_cast<std::size_t>(i) * size, large.data() + static_cast<std::size_t>(i) * size, size);
  }
  return {};
}

}  // namespace

result<test_case> workbench::make_case(std::string what, const std::vector<std::int64_t>& axes, content kind, std::uint64_t seed,
                                       bool with_rare_large) {
  test_case c;
  c.what = std::move(what);
  c.axes = axes;
  c.kind = kind;
  c.seed = seed;
  c.form = expected_form();
  auto oracle = make_buffers(problem_, axes, harness::guard_side::after, reference_.form);
  if (!oracle) return tl::unexpected(oracle.error());
  c.oracle = std::move(*oracle);
  const std::vector<int> inputs = problem_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t own = derive_seed(seed, problem_.tensors[static_cast<std::size_t>(inputs[i])].name);
    if (auto filled = fill_input(problem_, inputs[i], axes, own, kind, c.oracle->inputs[i].data()); !filled)
      return tl::unexpected(filled.error());
    if (!with_rare_large) continue;
    if (auto filled = add_rare_large(problem_, inputs[i], axes, own, c.oracle->inputs[i].data()); !filled)
      return tl::unexpected(filled.error());
  }
  for (const int output : problem_.outputs()) c.specs.push_back(compare_for(problem_, output, axes));
  auto process = process_of(reference_);
  if (!process) return tl::unexpected(process.error());
  auto called = (*process)->call({c.oracle.get()}, trusted_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) {
    return fail(problem_.reference ? fault::bad_request : fault::bug,
                fmt::format("the reference failed on {} ({}): {}", c.what, outcome_of(called->status), called->detail));
  }
  return c;
}

result<double> workbench::baseline_error(trusted_kernel& baseline, const test_case& c, kernel_buffers& buffers) {
  auto process = process_of(baseline);
  if (!process) return tl::unexpected(process.error());
  auto check = check_kernel(problem_, c, **process, buffers, harness::poison::not_a_number(), trusted_timeout_s, threads());
  if (!check) return tl::unexpected(check.error());
  const bool has_values = check->ok() || check->outcome == "wrong_values" || check->outcome == "precision_broken";
  return has_values ? check->max_error : harness::max_reported_error;
}

std::size_t workbench::timing_set_bytes(const workload_state& w) const {
  return 2 * buffer_bytes(problem_, w.main.axes, output_form::native);
}

std::size_t workbench::timing_set_descriptors() const {
  return 2 * (problem_.inputs().size() + problem_.outputs().size());
}

result<void> workbench::grow_timing_buffers(workload_state& w, std::size_t count) {
  const std::size_t bytes = timing_set_bytes(w), descriptors = timing_set_descriptors();
  while (w.timing.candidate.size() < count) {
    const bool first = w.timing.candidate.empty();
    if (!first && (timing_bytes_ + bytes > max_timing_bytes || timing_descriptors_ + descriptors > max_timing_descriptors)) break;
    auto candidate = make_buffers(problem_, w.main.axes, harness::guard_side::after, output_form::native);
    if (!candidate) return tl::unexpected(candidate.error());
    auto trusted = make_buffers(problem_, w.main.axes, harness::guard_side::after, output_form::native);
    if (!trusted) return tl::unexpected(trusted.error());
    w.timing.candidate.push_back(std::move(*candidate));
    w.timing.trusted.push_back(std::move(*trusted));
    timing_bytes_ += bytes;
    timing_descriptors_ += descriptors;
  }
  return {};
}

result<kernel_buffers*> workbench::reference_set(workload_state& w) {
  if (!w.reference_set) {
    auto made = make_buffers(problem_, w.main.axes, harness::guard_side::after, reference_.form);
    if (!made) return tl::unexpected(made.error());
    w.reference_set = std::move(*made);
  }
  return w.reference_set.get();
}

result<void> workbench::check_reference_against_itself(workload_state& w) {
  // The expected outputs of the case were the first run.
  auto again = reference_set(w);
  if (!again) return tl::unexpected(again.error());
  copy_inputs(*w.main.oracle, **again);
  for (harness::shared_buffer& b : (*again)->outputs) harness::fill_poison(b.data(), b.bytes(), harness::poison::finite(options_.seed));
  auto process = process_of(reference_);
  if (!process) return tl::unexpected(process.error());
  auto called = (*process)->call({*again}, trusted_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status != harness::call_status::ok) {
    return fail(fault::bad_request,
                fmt::format("{}: the reference failed when run a second time on {}", problem_.path.string(), w.main.what));
  }
  w.reference_ns = called->wall_ns;
  for (std::size_t o = 0; o < w.main.oracle->outputs.size(); ++o) {
    const harness::shared_buffer& first = w.main.oracle->outputs[o];
    const harness::shared_buffer& second = (*again)->outputs[o];
    if (harness::same_bytes(first.data(), second.data(), first.bytes(), threads())) continue;
    // Not the same bits: then the same within a hundredth of the budget, or the reference is no measure of anything.
    const std::vector<int> outputs = problem_.outputs();
    const dtype type = w.main.oracle->set.outputs[o].type;
    const auto form =
        reference_.form == output_form::wide && is_float(type) ? harness::expected_form::wide : harness::expected_form::native;
    const harness::comparison c = harness::compare(w.main.specs[o], type, second.data(), first.data(), form,
                                                   element_count(w.main.oracle->set.outputs[o].shape), 1, threads());
    if (c.max_error > 0.01) {
      return fail(fault::bad_request, fmt::format("{}: the reference disagrees with itself on {}: output '{}' moves by {:.3g} of the "
                                                  "comparison's budget between two runs; make "
                                                  "it deterministic and have it write every element",
                                                  problem_.path.string(), w.main.what,
                                                  problem_.tensors[static_cast<std::size_t>(outputs[o])].name, c.max_error));
    }
  }
  return {};
}

result<void> workbench::replace_timing_buffers(workload_state& w) {
  for (trusted_kernel& baseline : baselines_) {
    if (!baseline.process || !baseline.process->alive()) continue;
    if (auto forgotten = baseline.process->forget_sets(); !forgotten) return forgotten;
  }
  const std::size_t count = w.timing.candidate.size();
  w.timing.candidate.clear();
  w.timing.trusted.clear();
  timing_bytes_ -= count * timing_set_bytes(w);
  timing_descriptors_ -= count * timing_set_descriptors();
  return grow_timing_buffers(w, count);
}

result<std::unique_ptr<workload_state>> workbench::make_workload(std::string what, const std::vector<std::int64_t>& axes, double weight) {
  const std::size_t bytes = 2 * buffer_bytes(problem_, axes, output_form::wide) + 2 * buffer_bytes(problem_, axes, output_form::native);
  if (bytes > max_problem_bytes) {
    return fail(fault::bad_request,
                fmt::format("{}: {} needs {} GB for inputs, outputs and reference, more than the {} GB that an evaluation may take",
                            problem_.path.string(), what, bytes >> 30, max_problem_bytes >> 30));
  }
  auto w = std::make_unique<workload_state>();
  auto main = make_case(std::move(what), axes, content::as_declared, options_.seed);
  if (!main) return tl::unexpected(main.error());
  w->main = std::move(*main);
  w->weight = weight;
  for (std::size_t a = 0; a < problem_.axes.size(); ++a) w->axis_names[problem_.axes[a].name] = axes[a];
  if (auto same = check_reference_against_itself(*w); !same) return tl::unexpected(same.error());
  if (auto grown = grow_timing_buffers(*w, 1); !grown) return tl::unexpected(grown.error());
  return w;
}

result<void> workbench::prepare_workloads() {
  for (const workload& declared : problem_.workloads) {
    auto made = make_workload(fmt::format("workload {}", axes_text(problem_, declared.axes)), declared.axes, declared.weight);
    if (!made) return tl::unexpected(made.error());
    workloads_.push_back(std::move(*made));
    if (stopped()) return fail(fault::interrupted, "stopped while the reference was computed");
  }
  return {};
}

}  // namespace kernsmith::cpp
