#include <exception>
#include <filesystem>
#include <map>

#include <unistd.h>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include "actors/commands/command_line.hpp"
#include "actors/commands/commands.hpp"

namespace kernsmith::actors {
namespace {

// What went wrong inside Kernsmith goes into a file that a user can send; the exit code says that it is ours.
int report_bug(int argc, char** argv, const std::string& what) {
  std::string text = fmt::format("kernsmith {}\n{}\n\ncommand:", KERNSMITH_VERSION, now_text());
  for (int i = 0; i < argc; ++i) text += fmt::format(" {}", argv[i]);
  text += fmt::format("\n\n{}\n", what);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / fmt::format("kernsmith-bug-{}.txt", getpid());
  const bool written = write_file(file, text).has_value();
  fmt::print(stderr, "kernsmith: this is a bug in Kernsmith: {}\n", what);
  if (written) fmt::print(stderr, "kernsmith: a report stands in {}\n", file.string());
  return exit_bug;
}

}  // namespace

int run_program(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("kernsmith"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  CLI::App program{"Kernsmith makes compute kernels faster and proves it.", "kernsmith"};
  program.set_version_flag("--version", std::string("kernsmith ") + KERNSMITH_VERSION);
  program.require_subcommand(1);
  program.footer("Example: kernsmith optimize docs/examples/softmax.toml --budget 32");
  std::map<std::string, command_body> bodies;
  bodies["optimize"] = add_optimize(program);
  bodies["evaluate"] = add_evaluate(program);
  bodies["profile"] = add_profile(program);
  bodies["knowledge"] = add_knowledge(program);
  bodies["export"] = add_export(program);
  bodies["show"] = add_show(program);
  bodies["diff"] = add_diff(program);
  bodies["bench"] = add_bench(program);
  bodies["doctor"] = add_doctor(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return program.exit(e);
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "kernsmith: {}\nkernsmith: see kernsmith --help\n", e.what());
    return exit_bad_request;
  }
  try {
    watch_signals();
    return bodies.at(program.get_subcommands().front()->get_name())();
  } catch (const std::exception& e) {
    return report_bug(argc, argv, e.what());
  }
}

}  // namespace kernsmith::actors
