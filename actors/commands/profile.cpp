// `kernsmith profile PROBLEM SOURCE`: why one given implementation is as fast as it is.
#include <memory>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "actors/commands/generated_baseline.hpp"
#include "actors/commands/problem_argument.hpp"
#include "actors/commands/profile_text.hpp"
#include "actors/core_plan.hpp"
#include "agents/diagnosis/diagnose.hpp"
#include "agents/knowledge/library.hpp"
#include "backends/profilers.hpp"
#include "backends/targets.hpp"
#include "config/hash.hpp"

namespace kernsmith::actors {
namespace {

struct profile_options {
  common_options common;
  problem_options problem;
  std::string problem_file, source_file, target = "cpp";
  bool all_signals = false;
  std::int64_t threads = 0;
  std::uint64_t seed = 1;
};

/// A kernel whose answers are wrong has nothing to diagnose: its outcome is the answer.
struct profiled {
  profiled() { measured.outcome = "unmeasured"; }
  memory::evaluation measured;
  memory::profile profile;  ///< when the evaluation passed
};

result<profiled> profile_source(const profile_options& options, const problem& p, const std::string& target, const std::string& source) {
  const core_plan cores = plan_cores(allowed_cores(), 1, static_cast<std::size_t>(options.threads));
  harness::evaluator_options how;
  how.cache = build_cache(options.common);
  how.cores = cores.slots.front();
  how.seed = options.seed;
  how.stop = &interrupted();
  profiled done;
  {
    const bool compared = backends::has_baseline_for(target, p);
    const problem profiled = compared ? p : backends::with_itself_as_baseline(target, p, source);
    auto evaluator =
        with_naive_of(profiled, target).and_then([&](const problem& given) { return backends::open_evaluator(target, given, how); });
    if (!evaluator && !compared && evaluator.error().kind == fault::bad_request) {
      // As its own baseline it is looked at when the problem is opened.
      done.measured.detail = evaluator.error().message;
      return done;
    }
    if (!evaluator) return tl::unexpected(evaluator.error());
    auto kernel = (*evaluator)->build(source);
    if (!kernel) return tl::unexpected(kernel.error());
    auto evaluated = (*evaluator)->evaluate(*kernel, harness::effort::quick);
    if (!evaluated) return tl::unexpected(evaluated.error());
    done.measured = std::move(*evaluated);
  }  // its processes and buffers are gone before the profiler measures
  if (done.measured.outcome != "passed") return done;
  auto profile = backends::profile_kernel(target, p, source, done.measured, how);
  if (!profile) return tl::unexpected(profile.error());
  done.profile = std::move(*profile);
  done.profile.problem = p.hash;
  done.profile.target = target;
  done.profile.candidate = make_id("cand", fmt::format("{}\n{}\n{}\n{}", p.hash, target, backends::language_of(target), source));
  done.profile.finished = now_text();
  done.profile.diagnosis = agents::diagnose(done.profile);
  done.profile.diagnosis.knowledge = agents::knowledge_for(done.profile.diagnosis, target);
  return done;
}

int run_profile(const profile_options& options) {
  const auto given = load_given(options.problem_file, options.problem);
  if (!given) return report_error(given.error());
  for (const std::string& note : given->notes) fmt::print(stderr, "kernsmith: {}\n", note);
  const problem* const p = &given->task;
  const auto source = read_file(options.source_file);
  if (!source) return report_error(source.error());
  const auto target = backends::resolve_target(options.target);
  if (!target) return report_error(target.error());
  const auto done = profile_source(options, *p, *target, *source);
  if (!done) return report_error(done.error());
  if (done->measured.outcome != "passed") {
    fmt::print(stderr, "kernsmith: nothing to diagnose: the kernel does not pass: {}{}\n", done->measured.outcome,
               done->measured.detail.empty() ? "" : ": " + done->measured.detail);
    return exit_nothing_found;
  }
  if (!options.common.json || !options.common.json_file.empty()) fmt::print("{}", profile_text(done->profile, options.all_signals));
  if (options.common.json && !write_json(options.common, done->profile)) return exit_missing_here;
  return exit_done;
}

}  // namespace

command_body add_profile(CLI::App& program) {
  auto options = std::make_shared<profile_options>();
  CLI::App* command = program.add_subcommand(
      "profile", "The diagnosis of one given implementation: what limits it, the evidence, the roofline, what to try");
  command->footer("Example: kernsmith profile docs/examples/softmax.toml my_softmax.cpp");
  command->add_option("PROBLEM", options->problem_file, "Problem file (.toml), or a PyTorch module's (.py); its first workload is profiled")
      ->required();
  add_problem_options(*command, options->problem);
  command->add_option("SOURCE", options->source_file, "Implementation (with `launch`, see kernsmith_kernel.h)")->required();
  command->add_option("--target", options->target, "Language and device class")->capture_default_str();
  command->add_flag("--signals", options->all_signals, "Print every signal, and all of the hottest code");
  command->add_option("--threads", options->threads, "Cores that the kernel may use (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the input contents")->capture_default_str();
  add_common_options(*command, options->common);
  return [options] { return run_profile(*options); };
}

}  // namespace kernsmith::actors
