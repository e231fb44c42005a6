// `kernsmith evaluate PROBLEM SOURCE`: the whole evaluation of one given implementation, with an account of it.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "actors/commands/generated_baseline.hpp"
#include "actors/commands/problem_argument.hpp"
#include "actors/core_plan.hpp"
#include "backends/cpp/evaluator.hpp"
#include "backends/cpp/reference_source.hpp"
#include "backends/targets.hpp"
#include "config/hash.hpp"
#include "transport/terminal_view.hpp"

namespace kernsmith::actors {
namespace {

struct evaluate_options {
  common_options common;
  problem_options problem;
  std::string problem_file, source_file, target = "cpp", out, until;
  bool quick = false, strict = false;
  std::int64_t threads = 0;
  std::uint64_t seed = 1;
};

std::string axes_text(const memory::axis_values& axes) {
  std::string text;
  for (const auto& [name, extent] : axes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, extent);
  return text.empty() ? "(no axes)" : text;
}

/// What an evaluation leaves besides its record.
struct findings {
  std::string samples;  ///< JSON
  std::vector<memory::baseline_timing> baselines;
  std::optional<memory::control_result> control;
};

/// "width=0.006", "entropy=0.01", "blocks=40".
result<std::optional<harness::stopping_choice>> stopping_choice_of(const std::string& text) {
  using kind = harness::stopping_choice::kind;
  if (text.empty()) return std::nullopt;
  static constexpr std::array<std::pair<std::string_view, kind>, 3> rules{
      {{"width", kind::relative_width}, {"entropy", kind::entropy}, {"blocks", kind::fixed_count}}};
  const std::size_t equals = text.find('=');
  for (const auto& [name, which] : rules) {
    if (text.substr(0, equals) != name || equals == std::string::npos) continue;
    char* end = nullptr;
    const double enough = std::strtod(text.c_str() + equals + 1, &end);
    if (*end != 0 || end == text.c_str() + equals + 1 || !(enough > 0) || enough > 1e6) break;
    return harness::stopping_choice{which, enough};
  }
  return fail(fault::bad_request,
              fmt::format("--until {}: expected width=W (relative width of the 95 % interval), entropy=S (bits per block) "
                          "or blocks=N, with a positive number",
                          text));
}

void print_workload(const memory::workload_timing& w, const std::string& unit) {
  const auto text = [&unit](double value) { return transport::quantity_text(value, unit); };
  fmt::print("  {}\n", axes_text(w.axes));
  fmt::print("    candidate   {}", text(w.median_ns));
  if (w.ci95_ns.size() == 2) fmt::print(" [{}, {}]", text(w.ci95_ns[0]), text(w.ci95_ns[1]));
  fmt::print(", p10 {}, p90 {}, p99 {}, {} samples", text(w.p10_ns), text(w.p90_ns), text(w.p99_ns), w.samples);
  if (w.cold_median_ns > 0) fmt::print(", cold caches {}", text(w.cold_median_ns));
  fmt::print("\n    baseline    {}", text(w.baseline_median_ns));
  if (w.ci95.size() == 2) fmt::print("; ratio {:.3f} [{:.3f}, {:.3f}]: {}", w.speedup, w.ci95[0], w.ci95[1], w.verdict);
  if (w.floor_ns > 0) fmt::print("; impossible below {}", text(w.floor_ns));
  fmt::print("\n");
}

/// Stopping rule and number of process launches, as the samples tell.
void print_measuring(const std::string& samples) {
  const auto parsed = nlohmann::json::parse(samples, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("workloads") || parsed["workloads"].empty()) return;
  const nlohmann::json& first = parsed["workloads"][0];
  std::set<int> launches;
  for (const auto& block : first.value("blocks", nlohmann::json::array())) launches.insert(block.value("launch", 0));
  const std::string rule = first.value("stopping_rule", std::string());
  if (rule == "exact counts") {
    fmt::print("  measured    exact counts of candidate and baseline on the same contents\n");
    return;
  }
  fmt::print("  measured    ABBA blocks, {} process launch{}, {}, until {}\n", launches.size(), launches.size() == 1 ? "" : "es",
             first.value("interleaved", false) ? "interleaved with the baseline" : "baseline too slow to interleave", rule);
}

void print_sanitizers(const memory::evaluation& e) {
  const char* label = "sanitizers  ";
  for (const memory::sanitizer_run& run : e.sanitizers) {
    const std::string left_out = run.left_out > 0 ? fmt::format(" ({} left out: too slow under it)", run.left_out) : "";
    fmt::print("{}  {}: {} cases{}, {} in {:.1f} s\n", label, run.name, run.cases, left_out,
               run.finding.empty() ? "nothing found" : "a finding", run.seconds);
    label = "            ";
  }
}

void print_account(const problem& p, const memory::evaluation& e, const findings& found) {
  fmt::print("outcome       {}{}{}\n", e.outcome, e.rule.empty() ? "" : " (" + e.rule + ")", e.detail.empty() ? "" : ": " + e.detail);
  fmt::print("verification  {} cases, largest error {:.3g} of {:.3g} allowed", e.verification.cases, e.verification.max_error,
             e.verification.budget);
  if (e.verification.timed_outputs > 0) fmt::print(", {} timed outputs checked", e.verification.timed_outputs);
  fmt::print("\n");
  if (!e.verification.first_failure.empty()) fmt::print("first failure {}\n", e.verification.first_failure);
  print_sanitizers(e);
  fmt::print("{:14}{}\n", e.unit == "ns" ? "timing" : e.metric, e.timing.status);
  print_measuring(found.samples);
  for (const memory::workload_timing& w : e.workloads) print_workload(w, e.unit);
  if (e.timing.event_ns > 0)
    fmt::print("  clocks      outside {:.1f} us, the process's own {:.1f} us (never used for a verdict)\n", e.timing.wall_ns / 1e3,
               e.timing.event_ns / 1e3);
  if (found.control) {
    fmt::print("control       the baseline against itself: {:.3f}x", found.control->ratio);
    if (found.control->ci95.size() == 2) fmt::print(" [{:.3f}, {:.3f}]", found.control->ci95[0], found.control->ci95[1]);
    fmt::print(", {}{}\n", found.control->verdict, found.control->verdict == "no_difference" ? "" : ": these timings are unproven");
  }
  if (e.speedup > 0) {
    fmt::print("speed-up      {:.3f}x{} over {}", e.speedup, e.unit == "ns" ? "" : " fewer " + e.unit,
               found.baselines.empty() ? "the baseline" : found.baselines.front().name);
    if (e.ci95.size() == 2) fmt::print(" [{:.3f}, {:.3f}]", e.ci95[0], e.ci95[1]);
    fmt::print("\n");
  }
  if (!e.diagnosis.bottleneck.empty())
    fmt::print("bottleneck    {}, {:.0f} % of the roofline\n", e.diagnosis.bottleneck, 100 * e.diagnosis.roofline_fraction);
  fmt::print("machine       {} ({} cores, {}), {} {}\n", e.fingerprint.device, e.fingerprint.cores, e.fingerprint.isa,
             e.fingerprint.compiler, e.fingerprint.flags);
  fmt::print("problem       {} {}\n", p.name, p.hash.substr(0, 12));
}

result<void> write_evidence(const std::filesystem::path& folder, const problem& p, const std::string& source, const memory::evaluation& e,
                            const std::string& samples) {
  const auto put = [&](const char* name, const std::string& text) { return write_file(folder / name, text); };
  if (auto r = put("evaluation.json", nlohmann::json(e).dump(2)); !r) return r;
  if (auto r = put(("candidate." + file_suffix_of(backends::source_language_of(e.target))).c_str(), source); !r) return r;
  if (!samples.empty())
    if (auto r = put("samples.json", samples); !r) return r;
  if (const auto reference = cpp::reference_source(p))
    if (auto r = put("reference.cpp", *reference); !r) return r;
  return {};
}

result<memory::evaluation> evaluate_source(const evaluate_options& options, const problem& p, const std::string& target,
                                           const std::string& source, findings& found) {
  const core_plan cores = plan_cores(allowed_cores(), 1, static_cast<std::size_t>(options.threads));
  const auto until = stopping_choice_of(options.until);
  if (!until) return tl::unexpected(until.error());
  harness::evaluator_options how;
  how.cache = build_cache(options.common);
  how.cores = cores.slots.front();
  how.seed = options.seed;
  how.stop = &interrupted();
  how.until = *until;
  how.strict = options.strict;
  auto evaluator = with_naive_of(p, target).and_then([&](const problem& given) { return backends::open_evaluator(target, given, how); });
  if (!evaluator) return tl::unexpected(evaluator.error());
  auto kernel = (*evaluator)->build(source);
  if (!kernel) return tl::unexpected(kernel.error());
  memory::evaluation e;
  if (!kernel->outcome.empty()) {
    e.outcome = kernel->outcome;
    e.detail = kernel->detail;
    e.stage = "build";
    e.fingerprint = (*evaluator)->machine();
    e.cost.build_s = kernel->build_s;
  } else {
    auto evaluated = (*evaluator)->evaluate(*kernel, options.quick ? harness::effort::quick : harness::effort::final);
    if (!evaluated) return tl::unexpected(evaluated.error());
    e = *evaluated;
    found.samples = (*evaluator)->samples_json();
    if (!options.quick && e.outcome == "passed") {
      const auto control = (*evaluator)->control();
      if (!control) return tl::unexpected(control.error());
      found.control = *control;
      e.timing.control = control->verdict;
      if (control->verdict != "no_difference") e.timing.status = "unproven";
    }
  }
  found.baselines = (*evaluator)->baselines();
  e.problem = p.hash;
  e.effort = options.quick ? "quick" : "final";
  e.target = target;
  e.candidate = make_id("cand", fmt::format("{}\n{}\n{}\n{}", p.hash, target, backends::source_language_of(target), source));
  e.finished = now_text();
  e.id = make_id("eval", e.candidate + e.finished);
  return e;
}

int run_evaluate(const evaluate_options& options) {
  const auto given = load_given(options.problem_file, options.problem);
  if (!given) return report_error(given.error());
  for (const std::string& note : given->notes) fmt::print(stderr, "kernsmith: {}\n", note);
  const problem* const p = &given->task;
  if (const auto offered = check_objective(*p); !offered) return report_error(offered.error());
  const auto source = read_file(options.source_file);
  if (!source) return report_error(source.error());
  const auto target = backends::resolve_target(options.target);
  if (!target) return report_error(target.error());
  findings found;
  auto e = evaluate_source(options, *p, *target, *source, found);
  if (!e) return report_error(e.error());
  const std::filesystem::path evidence =
      options.out.empty() ? data_directory(options.common) / "evidence" / e->id : std::filesystem::path(options.out);
  e->evidence = evidence.string();
  if (const auto written = write_evidence(evidence, *p, *source, *e, found.samples); !written) return report_error(written.error());
  if (!options.common.json || !options.common.json_file.empty()) {
    print_account(*p, *e, found);
    fmt::print("evidence      {}\n", evidence.string());
  }
  if (options.common.json && !write_json(options.common, *e)) return exit_missing_here;
  return e->outcome == "passed" ? exit_done : exit_nothing_found;
}

}  // namespace

command_body add_evaluate(CLI::App& program) {
  auto options = std::make_shared<evaluate_options>();
  CLI::App* command = program.add_subcommand("evaluate", "The whole evaluation of one given implementation: the verdict and its evidence");
  command->footer("Example: kernsmith evaluate docs/examples/softmax.toml my_softmax.cpp");
  command->add_option("PROBLEM", options->problem_file, "Problem file (.toml), or a PyTorch module's (.py)")->required();
  add_problem_options(*command, options->problem);
  command->add_option("SOURCE", options->source_file, "Implementation (.cpp with `launch`, see kernsmith_kernel.h)")->required();
  command->add_option("--target", options->target, "Language and device class")->capture_default_str();
  CLI::Option* quick = command->add_flag("--quick", options->quick, "First workload only, few samples");
  command->add_flag("--strict", options->strict, "Also run it under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer")
      ->excludes(quick);
  command
      ->add_option("--until", options->until,
                   "When a workload is measured enough: width=W, entropy=S or blocks=N (default: by effort, width=0.006)")
      ->type_name("RULE");
  command->add_option("--threads", options->threads, "Cores that the kernel may use (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the input contents")->capture_default_str();
  command->add_option("--out", options->out, "Folder for the evidence (default: in the data directory)")->type_name("DIR");
  add_common_options(*command, options->common);
  return [options] { return run_evaluate(*options); };
}

}  // namespace kernsmith::actors
