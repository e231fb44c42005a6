// `kernsmith bench suite DIR`: `optimize` on every problem file of a folder, one after the other, and the table of what came of it.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"
#include "actors/commands/session_output.hpp"
#include "actors/commands/suite_problem.hpp"
#include "backends/harness/process.hpp"
#include "backends/targets.hpp"
#include "config/hash.hpp"
#include "config/suite_sizes.hpp"
#include "transport/suite_documents.hpp"
#include "transport/terminal_view.hpp"

namespace kernsmith::actors {
namespace {

namespace fs = std::filesystem;

/// Options that go to each `optimize` as they are.
struct forwarded_option {
  const char* name;
  const char* type;
  const char* doc;
};
constexpr std::array<forwarded_option, 9> forwarded_options{{
    {"--budget", "N", "Evaluations per problem and target"},
    {"--time", "DURATION", "Time limit per problem and target: 90s, 10m, 1h30m"},
    {"--stop-at", "X", "Stop a problem when this speed-up is reached"},
    {"--stall", "N", "Stop a problem after this many evaluations without a new best"},
    {"--policy", "NAME", "Search policy"},
    {"--profile", "MODE", "What is profiled: off, winner, best"},
    {"--seed", "N", "Seed of every random choice"},
    {"--threads", "N", "Cores that a kernel may use (0: all)"},
    {"--lookahead", "N", "Candidates generated and built ahead of the one being measured"},
}};

struct suite_options {
  common_options common;
  std::string folder, out = "kernsmith-suite", sizes, publish = "off";
  std::vector<std::string> targets, filters, synthesizers;
  std::array<std::string, forwarded_options.size()> forwarded;
  double limit_s = 3600;
  bool resume = false;
};

// What each `optimize` is given besides its file, target and output; without what differs between runs that mean the same.
std::vector<std::string> forwarded_arguments(const suite_options& options) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < forwarded_options.size(); ++i) {
    if (options.forwarded[i].empty()) continue;
    arguments.emplace_back(forwarded_options[i].name);
    arguments.push_back(options.forwarded[i]);
  }
  for (const std::string& name : options.synthesizers) arguments.insert(arguments.end(), {"--synthesizer", name});
  return arguments;
}

// A folder name for a target: "cuda/sm_90a" -> "cuda-sm_90a".
std::string folder_name(std::string target) {
  for (char& c : target)
    if (c == '/') c = '-';
  return target;
}

// What a problem's outcome depends on; --resume takes an outcome over only where it is the same.
std::string key_of(const suite_problem& problem, const std::vector<std::string>& arguments) {
  return content_hash(fmt::format("{}\n{}\n{}", read_file(problem.file).value_or(""), problem.target, fmt::join(arguments, "\n")));
}

std::optional<transport::suite_entry> ended_before(const fs::path& file, const std::string& key) {
  std::error_code ec;
  if (!fs::exists(file, ec)) return std::nullopt;
  const auto text = read_file(file);
  const auto document = nlohmann::json::parse(text ? *text : "", nullptr, false);
  try {
    if (!document.is_object() || document.at("key") != key) return std::nullopt;
    return transport::entry_of(document.at("entry"));
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;  // half of a file, or of another version: the problem is run again
  }
}

class suite_runner {
 public:
  explicit suite_runner(const suite_options& options)
      : options_(options), quiet_(options.common.quiet || (options.common.json && options.common.json_file.empty())) {}

  int run() {
    const auto problems = find_suite_problems(options_.folder, options_.filters);
    if (!problems) return report_error(problems.error());
    if (const auto ready = prepare(); !ready) return report_error(ready.error());
    if (const auto writable = check_output(options_.out); !writable) return report_error(writable.error());
    const double begun = harness::monotonic_s();
    const std::size_t total = problems->size() * run_.targets.size();
    std::size_t number = 0;
    for (const fs::path& file : *problems) {
      for (const std::string& target : run_.targets) {
        if (interrupted()) break;
        one(file, target, ++number, total);
        run_.wall_s = harness::monotonic_s() - begun;
        if (const auto written = write(); !written) return report_error(written.error());
      }
    }
    run_.finished = !interrupted();
    if (const auto written = write(); !written) return report_error(written.error());
    return finish();
  }

 private:
  result<void> prepare() {
    for (const std::string& name : options_.targets) {
      const auto target = backends::resolve_target(name);
      if (!target) return tl::unexpected(target.error());
      if (std::find(run_.targets.begin(), run_.targets.end(), *target) == run_.targets.end()) run_.targets.push_back(*target);
    }
    if (!options_.sizes.empty()) {
      auto sizes = load_suite_sizes(fs::path(options_.folder) / "sizes.toml", options_.sizes);
      if (!sizes) return tl::unexpected(sizes.error());
      sizes_ = std::move(*sizes);
    }
    run_.folder = options_.folder;
    run_.sizes = options_.sizes;
    run_.arguments = forwarded_arguments(options_);
    run_.started = now_text();
    return {};
  }

  void one(const fs::path& file, const std::string& target, std::size_t number, std::size_t total) {
    suite_problem problem;
    problem.file = file;
    problem.target = target;
    problem.limit_s = options_.limit_s;
    // Two files of one name, problem.py and problem.toml, get folders of their own.
    const std::string name = file.extension() == ".py" ? file.stem().string() : file.filename().string();
    const fs::path folder = run_.targets.size() == 1 ? fs::path(name) : fs::path(folder_name(target)) / name;
    problem.folder = fs::path(options_.out) / folder;
    problem.arguments = run_.arguments;
    if (const auto axes = sizes_.find(file.stem().string()); axes != sizes_.end())
      for (const auto& [axis, extent] : axes->second)
        problem.arguments.insert(problem.arguments.end(), {"--axis", fmt::format("{}={}", axis, extent)});
    const std::string key = key_of(problem, problem.arguments);
    const fs::path outcome = problem.folder / "outcome.json";
    std::optional<transport::suite_entry> entry;
    if (options_.resume) entry = ended_before(outcome, key);
    const bool kept = entry.has_value();
    if (!kept) {
      problem.arguments.insert(problem.arguments.end(), {"--publish", options_.publish});
      if (!options_.common.data.empty()) problem.arguments.insert(problem.arguments.end(), {"--data", options_.common.data});
      if (options_.resume) problem.arguments.emplace_back("--resume");
      announce(file, number, total);
      entry = run_suite_problem(problem, run_.fingerprint);
    }
    entry->folder = folder.string();
    if (entry->status != transport::suite_status::interrupted && !kept) {
      const auto written = write_file(outcome, nlohmann::json{{"key", key}, {"entry", transport::entry_document(*entry)}}.dump(1) + "\n");
      if (!written) report_error(written.error());  // the table is right all the same; only --resume will run it again
    }
    run_.entries.push_back(*entry);
    if (!quiet_) say(fmt::format("[{}/{}] {}{}", number, total, transport::entry_line(*entry), kept ? " (of an earlier run)" : ""));
  }

  // On a terminal: which problem is under way, on a line that its outcome will replace.
  void announce(const fs::path& file, std::size_t number, std::size_t total) const {
    if (quiet_ || !isatty(STDOUT_FILENO)) return;
    fmt::print("[{}/{}] {} ...", number, total, file.stem().string());
    std::fflush(stdout);
  }

  static void say(const std::string& line) {
    fmt::print("{}{}\n", isatty(STDOUT_FILENO) ? "\r\x1b[K" : "", line);
    std::fflush(stdout);
  }

  result<void> write() const {
    const fs::path out(options_.out);
    if (auto r = write_file(out / "suite.md", transport::suite_report(run_)); !r) return r;
    return write_file(out / "suite.json",
                      transport::suite_document(run_).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }

  int finish() const {
    if (!options_.common.json || !options_.common.json_file.empty()) {
      for (const std::string& line : transport::suite_table(run_)) fmt::print("{}\n", line);
      fmt::print("written to {}\n", options_.out);
    }
    if (options_.common.json && !write_json(options_.common, transport::suite_document(run_))) return exit_missing_here;
    if (!run_.finished) {
      fmt::print(stderr, "kernsmith: interrupted; the same command with --resume goes on where it stopped\n");
      return exit_interrupted;
    }
    const bool all_correct = std::all_of(run_.entries.begin(), run_.entries.end(), [](const transport::suite_entry& entry) {
      return entry.status == transport::suite_status::correct && entry.verdict != "slower";
    });
    return all_correct ? exit_done : exit_nothing_found;
  }

  const suite_options& options_;
  bool quiet_;
  std::map<std::string, suite_axes> sizes_;
  transport::suite_run run_;
};

void add_suite(CLI::App& bench, const std::shared_ptr<suite_options>& options) {
  CLI::App* command =
      bench.add_subcommand("suite", "Run optimize on every problem file of a folder, one after the other, and write the table");
  command->footer(
      "Example: kernsmith bench suite docs/examples --budget 6 --filter 'soft*' --out suite\n"
      "Exit code 0: every problem is correct and none is slower than its baseline.");
  command->add_option("DIR", options->folder, "Folder with problem files (.py, .toml)")->required();
  command->add_option("--target", options->targets, "Language and device class; may be repeated")->capture_default_str();
  for (std::size_t i = 0; i < forwarded_options.size(); ++i)
    command->add_option(forwarded_options[i].name, options->forwarded[i], forwarded_options[i].doc)->type_name(forwarded_options[i].type);
  command->add_option("--synthesizer", options->synthesizers, "Who makes candidates; may be repeated (default: all)");
  command->add_option("--filter", options->filters, "Only files whose name matches this shell pattern; may be repeated")->type_name("GLOB");
  command->add_option("--sizes", options->sizes, "Sizes from the table of this name in DIR/sizes.toml")->type_name("NAME");
  command->add_option("--limit", options->limit_s, "Seconds after which a problem is killed")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--out", options->out, "Folder for suite.json, suite.md and a folder for each problem")
      ->type_name("DIR")
      ->capture_default_str();
  command->add_option("--publish", options->publish, "Address of the result stream, or off")->capture_default_str();
  command->add_flag("--resume", options->resume,
                    "Take over problems that ended in an earlier run of the same command, and go on with the rest");
  add_common_options(*command, options->common);
}

}  // namespace

command_body add_bench(CLI::App& program) {
  auto options = std::make_shared<suite_options>();
  options->targets = {"cpp"};
  CLI::App* bench = program.add_subcommand("bench", "Measure over many problems");
  bench->require_subcommand(1);
  add_suite(*bench, options);
  return [options] { return suite_runner(*options).run(); };
}

}  // namespace kernsmith::actors
