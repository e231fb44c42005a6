#include "actors/commands/command_line.hpp"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

namespace kernsmith::actors {
namespace {

std::atomic<bool> interruption{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void on_signal(int) {
  if (interruption.exchange(true)) _exit(exit_interrupted);
  static constexpr std::string_view note = "\nkernsmith: stopping; everything found so far is kept (again to stop at once)\n";
  (void)!write(STDERR_FILENO, note.data(), note.size());
}

}  // namespace

void add_common_options(CLI::App& command, common_options& options) {
  command.add_option("--json", options.json_file, "Write machine output as JSON to FILE, or to stdout without one")
      ->expected(0, 1)
      ->type_name("[FILE]");
  command.add_flag("--quiet", options.quiet, "No live view, only the final lines");
  command.add_flag("-v,--verbose", options.verbose, "Say more (the same as --log-level info)");
  command.add_option("--log-level", options.log_level, "Log to stderr from this level on: trace debug info warn error off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  command
      .add_option("--data", options.data,
                  "The data directory (default: $KERNSMITH_DATA, else $XDG_DATA_HOME/kernsmith, else ~/.local/share/kernsmith)")
      ->type_name("DIR");
  command.parse_complete_callback([&command, &options] {
    options.json = command.count("--json") > 0;
    if (options.json_file == "{}") options.json_file.clear();  // what CLI11 stores for an option without its value
    spdlog::set_level(spdlog::level::from_str(options.verbose && options.log_level == "warn" ? "info" : options.log_level));
  });
}

std::filesystem::path data_directory(const common_options& options) {
  if (!options.data.empty()) return std::filesystem::absolute(options.data);
  if (const char* set = std::getenv("KERNSMITH_DATA"); set && *set) return std::filesystem::absolute(set);
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg && *xdg) return std::filesystem::path(xdg) / "kernsmith";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home && *home ? home : "/tmp") / ".local" / "share" / "kernsmith";
}

std::filesystem::path build_cache(const common_options& options) {
  return data_directory(options) / "build-cache";
}

int report_error(const error& why) {
  std::fprintf(stderr, "kernsmith: %s\n", why.message.c_str());
  return exit_code(why.kind);
}

bool write_json(const common_options& options, const nlohmann::json& document) {
  const std::string text = document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  if (options.json_file.empty()) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return std::fflush(stdout) == 0;
  }
  const auto written = write_file(options.json_file, text);
  if (!written) report_error(written.error());
  return written.has_value();
}

result<void> write_file(const std::filesystem::path& file, const std::string& text) {
  std::error_code ec;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), ec);
  if (ec) return fail(fault::missing_here, fmt::format("can't create the folder {}: {}", file.parent_path().string(), ec.message()));
  const std::filesystem::path partial = file.string() + fmt::format(".{}.part", getpid());
  {
    std::ofstream out(partial, std::ios::binary);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    out.flush();
    if (!out) {
      std::filesystem::remove(partial, ec);
      return fail(fault::missing_here, fmt::format("can't write {}; is the disk full or the folder read-only?", file.string()));
    }
  }
  std::filesystem::rename(partial, file, ec);
  if (ec) return fail(fault::missing_here, fmt::format("can't write {}: {}", file.string(), ec.message()));
  return {};
}

result<std::string> read_file(const std::filesystem::path& file) {
  std::error_code ec;
  if (!std::filesystem::exists(file, ec)) return fail(fault::bad_request, fmt::format("{}: no such file", file.string()));
  if (std::filesystem::is_directory(file, ec)) return fail(fault::bad_request, fmt::format("{}: is a folder, not a file", file.string()));
  std::ifstream in(file, std::ios::binary);
  if (!in) return fail(fault::bad_request, fmt::format("{}: can't be read; check its permissions", file.string()));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const std::atomic<bool>& interrupted() {
  return interruption;
}

void watch_signals() {
  signal(SIGPIPE, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

result<void> check_objective(const problem& p) {
  if (p.objective == metric::latency) return {};
  return fail(fault::bad_request, fmt::format("{}: [objective] asks for a metric other than \"latency\", and speed-ups are counted in "
                                              "median latency only; write metric = \"latency\", the percentiles stand in the results",
                                              p.path.string()));
}

std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms);
}

}  // namespace kernsmith::actors
