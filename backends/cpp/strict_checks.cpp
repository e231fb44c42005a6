#include "backends/cpp/strict_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "backends/cpp/work_model.hpp"

namespace kernsmith::cpp {

namespace {

constexpr std::size_t every_shape = 100;
/// Instrumented code is some hundred times slower than a good baseline.
constexpr double most_baseline_ns = 5e6;
constexpr std::size_t most_case_bytes = std::size_t{32} << 20;
constexpr double case_timeout_s = 30, sanitizer_time_s = 120;
/// Another level of optimisation sums in another order. The budget itself was checked before, on the build that is measured.
constexpr double rounding_slack = 4;
/// Shadow memory is up to four times what is touched.
constexpr std::int64_t shadow_factor = 3;
constexpr double load_timeout_s = 40;

constexpr std::string_view usual_remedy = "name g++ as the compiler with KERNSMITH_CXX, or leave --strict out";
/// Randomised addresses that reach into where ThreadSanitizer keeps its shadow, as recent systems have them.
constexpr std::string_view mapping_words = "unexpected memory mapping";
constexpr std::string_view mapping_remedy = "as root 'sysctl -w vm.mmap_rnd_bits=28', or leave --strict out";

// Kernels with the one fault that a sanitizer has to find. `volatile` keeps the compiler from leaving it out.
constexpr const char* past_the_end = R"(#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) {
  volatile long n = 4;
  volatile int* const table = new int[4];
  table[n] = 1;
  delete[] table;
  return 0;
})";
constexpr const char* shifted_too_far = R"(#include "kernsmith_kernel.h"
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) {
  volatile int places = 32;
  volatile int shifted = 1 << places;
  return shifted & 0;
})";
constexpr const char* racing_threads = R"(#include "kernsmith_kernel.h"
static long count;
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) {
#pragma omp parallel for
  for (long i = 0; i < 10000; ++i) ++count;
  return 0;
})";
constexpr const char* ordered_threads = R"(#include "kernsmith_kernel.h"
static double table[1000];
extern "C" int launch(const ks_tensor*, int, ks_tensor*, int, ks_launch*) {
  double sum = 0;
#pragma omp parallel
  {
#pragma omp for
    for (long i = 0; i < 1000; ++i) table[i] = static_cast<double>(i);
#pragma omp for reduction(+ : sum)
    for (long i = 0; i < 1000; ++i) sum += table[999 - i];
#pragma omp single
    table[0] = sum;
#pragma omp critical
    table[1] += table[0];
  }
  return sum == 499500 ? 0 : 1;
})";

const char* kernel_with_fault(sanitizer which) {
  switch (which) {
    case sanitizer::undefined:
      return shifted_too_far;
    case sanitizer::address:
      return past_the_end;
    case sanitizer::thread:
      break;
  }
  return racing_threads;
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

tl::unexpected<error> unusable(sanitizer which, const std::string& compiler, const std::string& why,
                               std::string_view remedy = usual_remedy) {
  return fail(fault::missing_here, fmt::format("{} of {} {}; {}", name_of(which), compiler, why, remedy));
}

/// These follow from what instrumentation costs, and say nothing about the kernel: it kept its limits without it.
bool is_the_sanitizers_cost(const check_result& check) {
  return check.outcome == "timeout" || check.outcome == "resource_limit";
}

}  // namespace

result<built_kernel> strict_checks::build(sanitizer which, const std::string& source) {
  return bench_.build_with(source, flags_of(which), companion_of(which));
}

result<kernel_process> strict_checks::start(sanitizer which, const std::filesystem::path& library) {
  harness::runner_options options = bench_.options_of_runner(library);
  const std::filesystem::path& runtime = runtimes_.at(which);
  options.threads = threads_under(which, bench_.threads());
  options.environment = environment_of(which, options.threads);
  options.environment.emplace_back("LD_PRELOAD", runtime.string());
  options.readable.push_back(runtime);
  options.memory_limit_bytes *= shadow_factor;
  options.load_timeout_s = load_timeout_s;
  return kernel_process::start(options, bench_.clock());
}

/// What a sanitizer says of a kernel that needs no tensors.
result<std::optional<sanitizer_finding>> strict_checks::finding_in(sanitizer which, const char* source) {
  const std::string& compiler = bench_.compiler().compiler();
  auto built = build(which, source);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) return unusable(which, compiler, "does not build: " + built->detail);
  auto process = start(which, built->library);
  if (!process) return unusable(which, compiler, "does not work in the sandbox: " + process.error().message);
  kernel_buffers none;
  auto called = process->call({&none}, case_timeout_s);
  if (!called) return tl::unexpected(called.error());
  if (called->status == harness::call_status::ok) return std::optional<sanitizer_finding>();
  const std::string output = process->output_tail();
  if (auto found = find_report(which, output)) return found;
  const std::string why =
      fmt::format("does not work here: a kernel built for its trial {}: {}", called->detail, output.substr(0, output.find('\n')));
  return unusable(which, compiler, why, output.find(mapping_words) == std::string::npos ? usual_remedy : mapping_remedy);
}

result<void> strict_checks::try_out(sanitizer which) {
  const std::string& compiler = bench_.compiler().compiler();
  auto runtime = bench_.compiler().own_library(runtime_of(which));
  if (!runtime) return tl::unexpected(runtime.error());
  runtimes_[which] = std::move(*runtime);
  auto found = finding_in(which, kernel_with_fault(which));
  if (!found) return tl::unexpected(found.error());
  if (!*found)
    return unusable(which, compiler, "did not find the fault in a kernel made for its trial, so that its silence would prove nothing");
  if (which != sanitizer::thread) return {};
  auto accused = finding_in(which, ordered_threads);
  if (!accused) return tl::unexpected(accused.error());
  if (*accused) return unusable(which, compiler, fmt::format("takes a correct OpenMP kernel for a racing one ({})", (*accused)->text));
  return {};
}

result<void> strict_checks::prepare() {
  for (const sanitizer which : all_sanitizers) {
    if (auto works = try_out(which); !works) return works;
  }
  return {};
}

result<std::vector<strict_checks::strict_case>> strict_checks::cases() {
  std::vector<strict_case> all;
  const auto add = [&all](const std::vector<edge_case*>& list) {
    for (edge_case* const edge : list) all.push_back({&edge->c, edge->buffers.get()});
  };
  auto shapes = edges_.shapes(every_shape);
  if (!shapes) return tl::unexpected(shapes.error());
  add(*shapes);
  // Kernels often start threads only where there is work for them: no small shape stands for a workload.
  const problem& p = bench_.subject();
  for (const auto& w : bench_.workloads()) {
    const double call_ns = w->baselines.front().call_ns;
    const std::vector<std::int64_t> axes = shrink_axes(p, w->main.axes, [&](const std::vector<std::int64_t>& smaller, double share) {
      return call_ns * share <= most_baseline_ns && buffer_bytes(p, smaller, output_form::native) <= most_case_bytes;
    });
    if (axes == w->main.axes) {
      all.push_back({&w->main, w->timing.candidate.front().get()});
      continue;
    }
    auto smaller = edges_.shrunk(axes);
    if (!smaller) return tl::unexpected(smaller.error());
    if (*smaller != nullptr) add({*smaller});
  }
  auto contents = edges_.contents();
  if (!contents) return tl::unexpected(contents.error());
  add(*contents);
  return all;
}

result<check_result> strict_checks::check(sanitizer which, kernel_process& process, const strict_case& one) {
  check_allowance allowance;
  allowance.budget_scale = rounding_slack;
  allowance.any_precision = true;
  auto check = check_kernel(bench_.subject(), *one.c, process, *one.buffers, harness::poison::not_a_number(), case_timeout_s,
                            bench_.threads(), allowance);
  if (!check || check->ok()) return check;
  if (process.alive() || is_the_sanitizers_cost(*check)) {
    check->detail = fmt::format("built for {}: {}", name_of(which), check->detail);
    return check;
  }
  const std::string output = process.output_tail();
  const auto found = find_report(which, output);
  check->outcome = found ? found->outcome : check->outcome;
  check->detail = found ? fmt::format("{}: {}", one.c->what, found->text) : fmt::format("built for {}: {}", name_of(which), check->detail);
  return check;
}

result<void> strict_checks::run_under(sanitizer which, const std::string& source, memory::sanitizer_run& run, memory::evaluation& e) {
  const auto found = [&](const std::string& outcome, const std::string& detail) {
    run.finding = detail;
    e.outcome = outcome;
    e.detail = detail;
    e.verification.first_failure = detail;
  };
  auto built = build(which, source);
  if (!built) return tl::unexpected(built.error());
  if (!built->outcome.empty()) {
    found(built->outcome, fmt::format("with {}: {}", fmt::join(flags_of(which), " "), built->detail));
    return {};
  }
  auto examined = cases();
  if (!examined) return tl::unexpected(examined.error());
  std::optional<kernel_process> process;
  const double began_s = now_s();
  for (const strict_case& one : *examined) {
    if (bench_.stopped()) return fail(fault::interrupted, "stopped while a candidate ran under a sanitizer");
    if (now_s() - began_s > sanitizer_time_s) {
      ++run.left_out;
      continue;
    }
    if (!process || !process->alive()) {
      auto started = start(which, built->library);
      if (!started) return tl::unexpected(started.error());
      process = std::move(*started);
    }
    auto checked = check(which, *process, one);
    if (!checked) return tl::unexpected(checked.error());
    if (is_the_sanitizers_cost(*checked)) {
      ++run.left_out;
      continue;
    }
    ++run.cases;
    if (checked->ok()) continue;
    found(checked->outcome, checked->detail);
    e.rule = checked->rule;
    return {};
  }
  if (run.cases == 0) {
    found("timeout", fmt::format("under {} no case ended within {} s or its memory: nothing was examined", name_of(which), case_timeout_s));
  }
  return {};
}

result<void> strict_checks::run(const std::string& source, memory::evaluation& e) {
  for (const sanitizer which : all_sanitizers) {
    const double began_s = now_s();
    memory::sanitizer_run& run = e.sanitizers.emplace_back();
    run.name = name_of(which);
    auto ran = run_under(which, source, run, e);
    run.seconds = now_s() - began_s;
    if (!ran || !e.outcome.empty()) return ran;
  }
  return {};
}

}  // namespace kernsmith::cpp
