// `kernsmith optimize PROBLEM…`: one session per problem x target in this process, then the result table and the documents.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <memory>

#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "actors/commands/generated_baseline.hpp"
#include "actors/commands/problem_argument.hpp"
#include "actors/commands/session_output.hpp"
#include "actors/commands/session_view.hpp"
#include "actors/core_plan.hpp"
#include "actors/embedded.hpp"
#include "agents/search/policy.hpp"
#include "agents/search/profile_schedule.hpp"
#include "agents/synthesis/machine_model.hpp"
#include "agents/synthesis/opencl/opencl_grammar.hpp"
#include "agents/synthesis/simt/simt_grammar.hpp"
#include "agents/synthesis/triton/triton_grammar.hpp"
#include "agents/synthesis/vector_c/vector_c_grammar.hpp"
#include "backends/external/targets.hpp"
#include "backends/profilers.hpp"
#include "backends/targets.hpp"
#include "config/hash.hpp"
#include "config/settings.hpp"
#include "config/text.hpp"
#include "transport/diagnosis_text.hpp"
#include "transport/result_stream.hpp"
#include "transport/result_table.hpp"
#include "transport/terminal_view.hpp"

namespace kernsmith::actors {
namespace {

/// A build for a device takes a few seconds, a measurement about half of one.
constexpr std::int64_t device_lookahead = 8;

struct optimize_options {
  common_options common;
  problem_options problem;
  run_settings settings;
  std::vector<std::string> problem_files, targets, synthesizers;
  std::string time_limit, out, publish = transport::default_stream_address;
  bool resume = false;
  std::size_t slots = 1;
};

// "90", "90s", "10m", "2h", "1h30m" -> seconds.
result<double> parse_duration(const std::string& text) {
  double total = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t used = 0;
    double value = 0;
    try {
      value = std::stod(text.substr(at), &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || value < 0)
      return fail(fault::bad_request, fmt::format("--time: '{}' is not a duration; write 90s, 10m or 1h30m", text));
    at += used;
    const char unit = at < text.size() ? text[at++] : 's';
    if (unit != 's' && unit != 'm' && unit != 'h')
      return fail(fault::bad_request, fmt::format("--time: '{}' is not a duration; write 90s, 10m or 1h30m", text));
    total += value * (unit == 'h' ? 3600 : unit == 'm' ? 60 : 1);
  }
  return total;
}

struct loaded_problems {
  std::vector<problem_ptr> problems;
  std::map<std::string, std::string> texts;  ///< by the problem's name: the problem file
};

result<loaded_problems> load_all(const std::vector<std::string>& files, const problem_options& how) {
  std::vector<problem> loaded;
  loaded_problems all;
  for (const std::string& file : files) {
    auto given = load_given(file, how);
    if (!given) return tl::unexpected(given.error());
    if (auto offered = check_objective(given->task); !offered) return tl::unexpected(offered.error());
    for (const std::string& note : given->notes) fmt::print(stderr, "kernsmith: {}\n", note);
    all.texts[given->task.name] = std::move(given->text);
    loaded.push_back(std::move(given->task));
  }
  if (auto distinct = check_distinct(loaded); !distinct) return tl::unexpected(distinct.error());
  for (problem& p : loaded) all.problems.push_back(std::make_shared<const problem>(std::move(p)));
  return all;
}

// The rules synthesizer of a target's language.
result<std::unique_ptr<agents::generator>> rules_for(const problem& p, const std::string& target, const admission& machine) {
  if (backends::language_of(target) == "cpp")
    return agents::make_rules_generator(p, agents::describe_host(static_cast<int>(std::max<std::int64_t>(1, machine.machine.cores))));
  if (backends::language_of(target) == "cuda")
    return agents::simt::make_simt_rules_generator(p, machine.device, agents::simt::dialect::cuda);
  if (backends::language_of(target) == "hip") return agents::simt::make_simt_rules_generator(p, machine.device, agents::simt::dialect::hip);
  if (backends::language_of(target) == "opencl")
    return agents::opencl::make_opencl_rules_generator(
        p, agents::describe_host(static_cast<int>(std::max<std::int64_t>(1, machine.machine.cores))));
  if (backends::language_of(target) == "triton") return agents::triton::make_triton_rules_generator(p);
  if (const auto external = external::find_target(target); external && *external) {
    if ((*external)->language == target_language::c) return agents::vector_c::make_vector_c_generator(p, **external);
  }
  return fail(fault::bad_request, fmt::format("the rules synthesizer has no grammar for {}", target));
}

// The rules first, then the user's kernels; `wanted` (empty: all) picks by name.
result<generators> make_generators(const problem& p, const std::string& target, const admission& machine,
                                   const std::vector<std::string>& wanted) {
  const auto is_wanted = [&](const std::string& name) {
    return wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  generators all;
  std::vector<std::string> known;
  const std::string language = backends::source_language_of(target);
  if (!p.statements.empty() && backends::language_of(target) != "pytorch") {
    known.emplace_back("rules");
    if (is_wanted("rules")) {
      auto rules = rules_for(p, target, machine);
      if (!rules) return tl::unexpected(rules.error());
      all.push_back(std::move(*rules));
    }
  }
  for (const source_file& seed : p.seed_kernels) {
    if (seed.language != language) continue;  // of another target
    known.push_back(seed.name);
    if (!is_wanted(seed.name)) continue;
    auto generator = agents::make_seed_generator(seed);
    if (!generator) return tl::unexpected(generator.error());
    all.push_back(std::move(*generator));
  }
  for (const std::string& name : wanted) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return fail(fault::bad_request, fmt::format("--synthesizer: '{}' can't make candidates for {}{}; it has: {}", name, p.name,
                                                did_you_mean(name, known), fmt::join(known, ", ")));
  }
  if (all.empty() && language == "python")
    return fail(fault::bad_request,
                fmt::format("{}: the rules make no kernels for target {}; give [seed_kernels] in Python, judge a kernel of your own with "
                            "'kernsmith evaluate', or search with --target triton, cpp or cuda",
                            p.path.string(), target));
  if (all.empty())
    return fail(fault::bad_request, fmt::format("{}: there is nothing to make candidates from: the problem has no definition and no seed "
                                                "kernels; add a [definition] or [seed_kernels]",
                                                p.path.string()));
  return all;
}

result<void> check_policy(const std::string& name) {
  const std::vector<std::string>& known = agents::policy_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return fail(fault::bad_request,
              fmt::format("--policy: unknown search policy '{}'{}; there are {}", name, did_you_mean(name, known), fmt::join(known, ", ")));
}

session_request make_request(const optimize_options& options, const problem_ptr& task, const std::string& text, const std::string& target,
                             double time_limit_s) {
  const run_settings& s = options.settings;
  session_request request;
  request.task = task;
  request.resume = options.resume;
  request.settings.problem = task->hash;
  request.settings.problem_name = task->name;
  request.settings.problem_blob = text;
  request.settings.target = target;
  request.settings.language = backends::source_language_of(target);
  request.settings.policy = s.policy;
  request.settings.seed = s.seed;
  request.settings.budget = s.budget;
  request.settings.time_limit_s = time_limit_s;
  request.settings.stop_at = s.stop_at;
  request.settings.stall = s.stall;
  request.settings.lookahead = s.lookahead.value_or(backends::has_own_device(target) ? device_lookahead : 1);
  request.settings.profile = backends::has_profiler(target) ? s.profile : "off";
  request.settings.id = make_id("sess", fmt::format("{}/{}/{}/{}", task->hash, target, now_text(), getpid()));
  return request;
}

core_plan cores_for(const optimize_options& options) {
  const auto threads = static_cast<std::size_t>(options.settings.threads);
  const bool on_devices = std::all_of(options.targets.begin(), options.targets.end(),
                                      [](const std::string& target) { return backends::has_own_device(target); });
  return on_devices ? plan_device_cores(allowed_cores(), options.slots, threads) : plan_cores(allowed_cores(), options.slots, threads);
}

supervisor_config make_supervisor(const optimize_options& options, std::shared_ptr<memory::store> store, transport::result_stream* stream,
                                  session_view& view) {
  supervisor_config config;
  config.store = std::move(store);
  if (stream) config.publisher.send = [stream](const memory::event& e) { stream->publish(e); };
  config.presenter = view.presenter();
  config.fleet.cores = cores_for(options);
  config.fleet.now = [] { return std::chrono::steady_clock::now(); };
  config.fleet.open = [cache = build_cache(options.common)](const problem& p, const std::string& target, const std::vector<int>& cores,
                                                            std::uint64_t seed) {
    harness::evaluator_options how;
    how.cache = cache;
    how.cores = cores;
    how.seed = seed;
    how.stop = &interrupted();
    return with_naive_of(p, target).and_then([&](const problem& given) { return backends::open_evaluator(target, given, how); });
  };
  config.fleet.profile = [cache = build_cache(options.common)](const problem& p, const std::string& target, const std::vector<int>& cores,
                                                               std::uint64_t seed, const std::string& source,
                                                               const memory::evaluation& measured) {
    harness::evaluator_options how;
    how.cache = cache;
    how.cores = cores;
    how.seed = seed;
    how.stop = &interrupted();
    return backends::profile_kernel(target, p, source, measured, how);
  };
  config.baseline_source = [](const problem& p, const std::string& target) { return backends::baseline_source(target, p); };
  config.make_generators = [wanted = options.synthesizers](const problem& p, const std::string& target, const admission& machine) {
    return make_generators(p, target, machine, wanted);
  };
  config.now = now_text;
  config.clock_s = [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  config.parallel_sessions = config.fleet.cores.slots.size();
  return config;
}

std::unique_ptr<transport::result_stream> open_stream(const optimize_options& options) {
  if (options.publish == "off") return nullptr;
  auto stream = transport::result_stream::open(options.publish);
  if (stream) return std::move(*stream);
  spdlog::warn("no result stream: {}", stream.error().message);
  return nullptr;
}

std::filesystem::path output_base(const optimize_options& options) {
  return options.out.empty() ? "kernsmith-out" : options.out;
}

std::filesystem::path output_folder(const optimize_options& options, const problem_ptr& task, bool only_one) {
  return only_one && !options.out.empty() ? output_base(options) : output_base(options) / task->name;
}

// The problem file that was made from a module, beside the module: together they are a problem like any other.
result<void> write_made_problem(const std::filesystem::path& folder, const problem& task, const std::string& text) {
  if (auto written = write_file(folder / task.module->source.path.filename(), task.module->source.text); !written) return written;
  return write_file(folder / "problem.toml", text);
}

// The problem file as the user gave it: what has to be typed again, wherever the folder is moved to.
std::string given_path(const optimize_options& options, const problem& task) {
  for (const std::string& file : options.problem_files) {
    std::error_code ignored;
    if (std::filesystem::equivalent(file, task.path, ignored)) return file;
  }
  return task.path.filename().string();
}

int worst(int a, int b) {
  // A bug outweighs everything; then what the user or the machine must mend; then "nothing found".
  const auto rank = [](int code) {
    return code == exit_bug ? 5 : code == exit_interrupted ? 4 : code == exit_bad_request ? 3 : code == exit_missing_here ? 2 : code;
  };
  return rank(a) >= rank(b) ? a : b;
}

transport::result_row row_of(const session_report& report) {
  transport::result_row row;
  row.problem = report.session.problem_name;
  row.target = report.session.target;
  row.best = report.session.best;
  if (!report.session.baselines.empty()) row.unit = report.session.baselines.front().unit;
  row.stopped_by = report.session.stopped_by;
  row.speedup = report.best.id.empty() ? 0 : report.best.speedup;
  row.ci95 = report.best.ci95;
  row.wall_s = report.session.wall_s;
  row.control = report.session.control.verdict;
  if (!row.best.empty()) {
    for (std::size_t i = 1; i < report.session.baselines.size(); ++i) {
      const memory::baseline_timing& other = report.session.baselines[i];
      if (const double speedup = transport::speedup_over(report.best, other); speedup > 0)
        row.over_others.emplace_back(other.name, speedup);
    }
    const auto& signals = report.best.diagnosis.signals;
    // Data that stays in the caches goes faster than any copy of what doesn't.
    const auto cached = signals.find("cache_resident");
    if (const auto moved = signals.find("memory_fraction"); moved != signals.end() && (cached == signals.end() || cached->second < 0.5))
      row.copy_fraction = moved->second;
    row.roofline_fraction = report.best.diagnosis.roofline_fraction;
  }
  for (const auto& e : report.history)
    if (e.effort != "final" && e.duplicate_of.empty()) ++row.evaluations;
  return row;
}

int status_of(const session_report& report) {
  if (!report.halted.empty()) return exit_missing_here;
  if (report.session.state == "interrupted") return exit_interrupted;
  if (report.best.id.empty() || report.best.ci95.size() != 2) return exit_nothing_found;
  // "Verified faster": the interval lies above 1, and above what the baseline came to against itself in the same session, so that noise
  // or a bias of this machine can't pass for a gain.
  double noise = 1;
  const std::vector<double>& control = report.session.control.ci95;
  if (control.size() == 2 && control[0] > 0) noise = std::max({1.0, control[1], 1 / control[0]});
  return report.best.ci95[0] > noise ? exit_done : exit_nothing_found;
}

int run_optimize(const optimize_options& options) {
  double time_limit_s = 0;
  if (!options.time_limit.empty()) {
    const auto parsed = parse_duration(options.time_limit);
    if (!parsed) return report_error(parsed.error());
    time_limit_s = *parsed;
  }
  if (const auto known = check_policy(options.settings.policy); !known) return report_error(known.error());
  if (const auto known = agents::profile_mode_named(options.settings.profile); !known)
    return report_error(error{fault::bad_request, "--profile: " + known.error().message});
  const auto loaded = load_all(options.problem_files, options.problem);
  if (!loaded) return report_error(loaded.error());
  const std::vector<problem_ptr>& problems = loaded->problems;
  std::vector<std::string> targets;
  for (const std::string& name : options.targets) {
    const auto target = backends::resolve_target(name);
    if (!target) return report_error(target.error());
    if (std::find(targets.begin(), targets.end(), *target) == targets.end()) targets.push_back(*target);
  }
  for (const problem_ptr& p : problems) {
    for (const std::string& target : targets) {
      const auto possible = make_generators(*p, target, admission{}, options.synthesizers);
      if (!possible) return report_error(possible.error());
    }
  }
  auto store = memory::store::open(data_directory(options.common));
  if (!store) return report_error(store.error());
  if (const auto writable = check_output(output_base(options)); !writable) return report_error(writable.error());
  const auto stream = open_stream(options);
  session_view view(options.common.quiet || (options.common.json && options.common.json_file.empty()), time_limit_s);

  std::vector<session_request> requests;
  for (const problem_ptr& p : problems)
    for (const std::string& target : targets) requests.push_back(make_request(options, p, loaded->texts.at(p->name), target, time_limit_s));
  int status = exit_done;
  std::vector<transport::result_row> rows;
  std::vector<std::string> limits;  ///< of the winners
  nlohmann::json documents = nlohmann::json::array();
  std::size_t ended = 0;
  const auto done = [&](const session_result& report) {
    const session_request& request = requests[ended++];
    if (!report) {
      status = worst(status, report_error(report.error()));
      transport::result_row failed;
      failed.problem = request.task->name;
      failed.target = request.settings.target;
      failed.failure = report.error().message;
      rows.push_back(std::move(failed));
      return;
    }
    const auto folder = output_folder(options, request.task, requests.size() == 1);
    auto written = write_session(folder, *report, given_path(options, *request.task));
    if (written && request.task->module)
      if (auto made = write_made_problem(folder, *request.task, request.settings.problem_blob); !made)
        written = tl::unexpected(made.error());
    if (!written) {
      status = worst(status, report_error(written.error()));
      return;
    }
    if (!report->halted.empty())
      fmt::print(stderr,
                 "kernsmith: {}: {}; everything found so far is kept, and the same command with --resume goes on where it stopped\n",
                 report->session.problem_name, report->halted);
    documents.push_back(std::move(*written));
    rows.push_back(row_of(*report));
    if (!report->best.profile_blob.empty())
      limits.push_back(fmt::format("{} is limited by {}", report->session.problem_name, transport::limit_text(report->best.diagnosis)));
    status = worst(status, status_of(*report));
  };
  const auto reports = run_embedded(make_supervisor(options, std::shared_ptr<memory::store>(std::move(*store)), stream.get(), view),
                                    requests, &interrupted(), done);
  view.finish();
  if (!options.common.json || !options.common.json_file.empty()) {
    const bool any = std::any_of(rows.begin(), rows.end(), [](const transport::result_row& row) { return row.failure.empty(); });
    if (any || rows.size() > 1) {
      for (const std::string& line : transport::result_table(rows)) fmt::print("{}\n", line);
      for (const std::string& line : limits) fmt::print("{}\n", line);
      if (any)
        fmt::print("written to {}\n",
                   (requests.size() == 1 ? output_folder(options, requests.front().task, true) : output_base(options)).string());
    }
  }
  if (options.common.json && !write_json(options.common, documents.size() == 1 ? documents[0] : documents))
    status = worst(status, exit_missing_here);
  if (status == exit_interrupted) fmt::print(stderr, "kernsmith: interrupted; the same command with --resume goes on where it stopped\n");
  return status;
}

}  // namespace

command_body add_optimize(CLI::App& program) {
  auto options = std::make_shared<optimize_options>();
  options->targets = {"cpp"};
  CLI::App* command = program.add_subcommand(
      "optimize", "Search for a faster implementation of each problem, one session per problem and target, in this process");
  command->footer("Example: kernsmith optimize docs/examples/softmax.toml --budget 96 --out best-softmax");
  run_settings& s = options->settings;
  command->add_option("PROBLEM", options->problem_files, "Problem files (.toml), or PyTorch modules' (.py)")->required();
  add_problem_options(*command, options->problem);
  command->add_option("--target", options->targets, "Language and device class; may be repeated")->capture_default_str();
  command->add_option("--budget", s.budget, "Evaluations per session")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--time", options->time_limit, "Time limit per session: 90s, 10m, 1h30m")->type_name("DURATION");
  command->add_option("--stop-at", s.stop_at, "Stop when this speed-up is reached")->check(CLI::NonNegativeNumber);
  command->add_option("--stall", s.stall, "Stop after this many evaluations without a new best")->check(CLI::NonNegativeNumber);
  command->add_option("--policy", s.policy, "Search policy: mcts, evolution or random")->capture_default_str();
  command
      ->add_option("--profile", s.profile,
                   "What is profiled, for a diagnosis: off, winner, or best (the winner, and within a tenth of the time each best that "
                   "lasts and the baseline)")
      ->capture_default_str();
  command->add_option("--synthesizer", options->synthesizers,
                      "Who makes candidates: rules, or the name of a seed kernel; may be repeated (default: all)");
  command->add_option("--seed", s.seed, "Seed of every random choice")->capture_default_str();
  command->add_option("--threads", s.threads, "Cores that a kernel may use (0: all)")->check(CLI::NonNegativeNumber)->capture_default_str();
  command->add_option("--slots", options->slots, "Sessions at once, each on cores of its own")
      ->check(CLI::Range(std::size_t{1}, std::size_t{256}))
      ->capture_default_str();
  command
      ->add_option("--lookahead", s.lookahead,
                   "Candidates generated and built ahead of the one being measured (default: 1, on a device of its own 8)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{64}));
  command->add_option("--out", options->out, "Folder for result.json, best.*, report.md and evidence/ (default: kernsmith-out/<problem>)")
      ->type_name("DIR");
  command->add_option("--publish", options->publish, "Address of the result stream, or off")->capture_default_str();
  command->add_flag("--resume", options->resume, "Go on with the newest unfinished session of each problem and target");
  add_common_options(*command, options->common);
  return [options] { return run_optimize(*options); };
}

}  // namespace kernsmith::actors
