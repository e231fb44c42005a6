// `kernsmith export solution WHAT --format F`: a verified kernel as files that others can use.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "actors/commands/problem_argument.hpp"
#include "backends/harness/hosted_kernels.hpp"
#include "backends/pytorch/solution_export.hpp"
#include "memory/store.hpp"

namespace kernsmith::actors {
namespace {

struct export_options {
  common_options common;
  std::string what, format = "modelnew", problem_file, out;
  problem_options problem;
};

/// What a result says, wherever it was kept.
struct kept_result {
  pytorch::verified_solution solution;
  std::string problem_hash;
  std::filesystem::path problem_file;  ///< where it says how to get the problem; empty: `problem_text`
  std::string problem_text;
  std::vector<memory::workload_timing> measured;  ///< of the kernel, against the first baseline
  std::vector<memory::baseline_timing> baselines;
};

/// A session's result.json, or its folder.
result<kept_result> read_result(const std::filesystem::path& given) {
  const std::filesystem::path file = std::filesystem::is_directory(given) ? given / "result.json" : given;
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  const auto document = nlohmann::json::parse(*text, nullptr, false);
  const auto refuse = [&](const std::string& why) { return fail(fault::bad_request, fmt::format("{}: {}", file.string(), why)); };
  if (!document.is_object() || document.value("schema", "") != "kernsmith.result/1")
    return refuse("is no result of a session; give result.json, its folder, or the id of a candidate");
  const auto best = document.find("best");
  if (best == document.end() || !best->is_object()) return refuse("the session found no verified kernel");
  kept_result kept;
  kept.solution.candidate = best->value("candidate", "");
  kept.solution.language = best->value("language", "");
  kept.solution.target = document.value("target", "");
  kept.problem_hash = document["problem"].value("hash", "");
  const nlohmann::json machine = document.value("fingerprint", nlohmann::json::object());
  kept.solution.measured_on = fmt::format("{}, {}", machine.value("device", ""), machine.value("compiler", ""));
  const auto source = read_file(file.parent_path() / best->value("source", ""));
  if (!source) return tl::unexpected(source.error());
  kept.solution.source = *source;
  kept.problem_file = file.parent_path() / document.value("evidence", "evidence") / "problem.toml";
  const auto timing = [](const nlohmann::json& w) {
    memory::workload_timing t;
    t.axes = w.value("axes", memory::axis_values());
    t.median_ns = w.value("median_ns", 0.0);
    t.verdict = w.value("verdict", "");
    return t;
  };
  for (const auto& w : best->value("workloads", nlohmann::json::array())) kept.measured.push_back(timing(w));
  nlohmann::json all = document.value("other_baselines", nlohmann::json::array());
  if (document.contains("baseline") && document["baseline"].is_object()) all.insert(all.begin(), document["baseline"]);
  for (const auto& b : all) {
    memory::baseline_timing& baseline = kept.baselines.emplace_back();
    baseline.name = b.value("name", "");
    for (const auto& w : b.value("workloads", nlohmann::json::array())) baseline.workloads.push_back(timing(w));
  }
  return kept;
}

/// A candidate, evaluation or session of the store.
result<kept_result> find_result(const export_options& options) {
  const auto store = memory::store::open(data_directory(options.common), true);
  if (!store) return tl::unexpected(store.error());
  auto candidate = (*store)->get_candidate(options.what);
  if (!candidate) {
    if (const auto evaluation = (*store)->get_evaluation(options.what))
      candidate = (*store)->get_candidate(evaluation->candidate);
    else if (const auto session = (*store)->get_session(options.what); session && !session->best.empty())
      candidate = (*store)->get_candidate(session->best);
  }
  if (!candidate) return tl::unexpected(candidate.error());
  const auto source = (*store)->get_blob(candidate->source_blob);
  if (!source) return tl::unexpected(source.error());
  const auto evaluations = (*store)->evaluations_for_candidate(candidate->id);
  const memory::evaluation* best = nullptr;  // the most thorough, and of those the newest
  for (const memory::evaluation& e : evaluations)
    if (e.outcome == "passed" && (best == nullptr || e.effort == "final" || best->effort != "final")) best = &e;
  if (best == nullptr)
    return fail(fault::bad_request,
                fmt::format("candidate {} has no evaluation that it passed: only verified kernels are exported", candidate->id));
  const auto session = (*store)->get_session(candidate->session);
  if (!session) return tl::unexpected(session.error());
  kept_result kept;
  kept.solution = {candidate->id,
                   candidate->language,
                   *source,
                   candidate->target,
                   fmt::format("{}, {}", best->fingerprint.device, best->fingerprint.compiler),
                   "",
                   {}};
  kept.problem_hash = candidate->problem;
  kept.problem_text = session->problem_blob;
  kept.measured = best->workloads;
  kept.baselines = session->baselines;
  return kept;
}

result<problem> problem_of(const export_options& options, const kept_result& kept) {
  result<problem> p;
  if (!options.problem_file.empty()) {
    auto given = load_given(options.problem_file, options.problem);
    p = given ? result<problem>(std::move(given->task)) : tl::unexpected(given.error());
  } else if (!kept.problem_file.empty())
    p = load_problem(kept.problem_file);
  else
    p = parse_problem(kept.problem_text, "problem.toml");
  if (!p) return fail(p.error().kind, p.error().message + (options.problem_file.empty() ? "; name the problem with --problem FILE" : ""));
  if (p->hash != kept.problem_hash) {
    return fail(fault::bad_request,
                fmt::format("the kernel was made for problem {}, and this is {}; name the right one with --problem FILE",
                            kept.problem_hash.substr(0, 12), p->hash.substr(0, 12)));
  }
  return p;
}

const memory::workload_timing* timing_on(const std::vector<memory::workload_timing>& timings, const memory::axis_values& axes) {
  const auto found = std::find_if(timings.begin(), timings.end(), [&](const auto& t) { return t.axes == axes; });
  return found == timings.end() ? nullptr : &*found;
}

/// The kernel's times beside those of the module as PyTorch runs it. Against another baseline than the first there is no verdict: a gain
/// beyond what "no difference" may be is asked for.
void compare_with_module(const problem& p, kept_result& kept) {
  constexpr double clear_gain = 1.05;
  const auto spec = std::find_if(p.baselines.begin(), p.baselines.end(), [](const baseline_spec& b) { return b.builtin == "pytorch"; });
  const auto other = std::find_if(p.baselines.begin(), p.baselines.end(), [](const baseline_spec& b) { return harness::is_hosted(b); });
  const auto chosen = spec != p.baselines.end() ? spec : other;
  if (chosen == p.baselines.end()) return;
  const auto timed = std::find_if(kept.baselines.begin(), kept.baselines.end(), [&](const auto& b) { return b.name == chosen->name; });
  if (timed == kept.baselines.end()) return;
  kept.solution.baseline = chosen->name;
  const bool first = timed == kept.baselines.begin();
  for (const memory::workload_timing& own : kept.measured) {
    const memory::workload_timing* module = timing_on(timed->workloads, own.axes);
    if (module == nullptr) continue;
    pytorch::exported_workload w;
    for (const axis& a : p.axes) w.axes.push_back(own.axes.count(a.name) ? own.axes.at(a.name) : a.extent);
    w.kernel_ns = own.median_ns;
    w.module_ns = module->median_ns;
    w.faster = first ? own.verdict == "faster" : own.median_ns * clear_gain < module->median_ns;
    kept.solution.workloads.push_back(std::move(w));
  }
}

result<std::vector<pytorch::exported_file>> files_of(const export_options& options, const problem& p, const kept_result& kept) {
  if (options.format == "source") return pytorch::export_source(p, kept.solution);
  if (options.format == "flashinfer") return pytorch::export_flashinfer(p, kept.solution);
  if (p.module && kept.solution.baseline.empty())
    return fail(fault::bad_request,
                "the kernel was not measured against the module: give the problem a baseline with builtin = \"pytorch\"");
  return options.format == "extension" ? pytorch::export_extension(p, kept.solution) : pytorch::export_module(p, kept.solution);
}

int run_export(const export_options& options) {
  std::error_code ignored;
  auto kept = std::filesystem::exists(options.what, ignored) ? read_result(options.what) : find_result(options);
  if (!kept) return report_error(kept.error());
  const auto p = problem_of(options, *kept);
  if (!p) return report_error(p.error());
  compare_with_module(*p, *kept);
  const auto files = files_of(options, *p, *kept);
  if (!files) return report_error(files.error());
  // One file goes where --out says; several go into that folder.
  const std::filesystem::path out = !options.out.empty() ? options.out : files->size() == 1 ? files->front().name : p->name;
  nlohmann::json written = nlohmann::json::array();
  for (const pytorch::exported_file& file : *files) {
    const bool alone = files->size() == 1 && !std::filesystem::is_directory(out, ignored);
    const std::filesystem::path place = alone ? out : out / file.name;
    if (const auto done = write_file(place, file.text); !done) return report_error(done.error());
    written.push_back(place.string());
  }
  const auto used = std::count_if(kept->solution.workloads.begin(), kept->solution.workloads.end(),
                                  [](const auto& w) { return w.faster && w.kernel_ns + pytorch::dispatch_ns < w.module_ns; });
  if (options.common.json) {
    const nlohmann::json document = {
        {"schema", "kernsmith.export/1"},        {"format", options.format}, {"files", written},
        {"candidate", kept->solution.candidate}, {"problem", p->hash},       {"workloads", kept->solution.workloads.size()},
        {"workloads_with_kernel", used}};
    return write_json(options.common, document) ? exit_done : exit_missing_here;
  }
  for (const auto& place : written) fmt::print("{}\n", place.get<std::string>());
  if (options.format == "modelnew" || options.format == "extension")
    fmt::print("the kernel is used on {} of {} measured workloads, the module's own forward everywhere else\n", used,
               kept->solution.workloads.size());
  return exit_done;
}

}  // namespace

command_body add_export(CLI::App& program) {
  auto options = std::make_shared<export_options>();
  CLI::App* command = program.add_subcommand("export", "Write a verified kernel in a form that others can use");
  command->require_subcommand(1);
  CLI::App* solution =
      command->add_subcommand("solution", "One kernel: as a PyTorch module, a FlashInfer solution, a package, or plain source");
  solution->footer("Example: kernsmith export solution kernsmith-out/linear/result.json --format modelnew --out linear_fast.py");
  solution->add_option("WHAT", options->what, "A session's result.json or folder, or the id of a candidate, evaluation or session")
      ->required();
  solution->add_option("--format", options->format, "modelnew, flashinfer, extension or source")
      ->check(CLI::IsMember({"modelnew", "flashinfer", "extension", "source"}))
      ->capture_default_str();
  solution->add_option("--problem", options->problem_file, "The problem's file or its module's, where it has moved");
  solution->add_option("--out", options->out, "The file, or for several files the folder, to write to");
  add_problem_options(*solution, options->problem);
  add_common_options(*solution, options->common);
  return [options] { return run_export(*options); };
}

}  // namespace kernsmith::actors
