// What all subcommands share: the options every command takes, how errors and machine output leave, and how a signal stops work.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "config/error.hpp"
#include "config/problem.hpp"

namespace CLI {
class App;
}

namespace kernsmith::actors {

/// Options that every command takes.
struct common_options {
  bool json = false;      ///< --json: machine output
  std::string json_file;  ///< --json FILE; empty: stdout
  bool quiet = false;     ///< no live view
  bool verbose = false;
  std::string log_level = "warn";
  std::string data;  ///< --data DIR
};

/// Exit codes of INTERFACE.md.
enum exit_status : int {
  exit_done = 0,
  exit_nothing_found = 1,
  exit_bad_request = 2,
  exit_missing_here = 3,
  exit_interrupted = 4,
  exit_bug = 70
};

void add_common_options(CLI::App& command, common_options& options);

/// `--data`, else $KERNSMITH_DATA, else $XDG_DATA_HOME/kernsmith, else ~/.local/share/kernsmith.
[[nodiscard]] std::filesystem::path data_directory(const common_options& options);

/// Where built kernels are cached: below the data directory.
[[nodiscard]] std::filesystem::path build_cache(const common_options& options);

/// Prints "kernsmith: <message>" to stderr and gives the exit code of its kind.
int report_error(const error& why);

/// Writes a document where --json says. False (and a message) when the file can't be written.
[[nodiscard]] bool write_json(const common_options& options, const nlohmann::json& document);

/// Writes a file by temporary and rename, so that a reader never sees half of it.
[[nodiscard]] result<void> write_file(const std::filesystem::path& file, const std::string& text);
[[nodiscard]] result<std::string> read_file(const std::filesystem::path& file);

/// Set by the first SIGINT or SIGTERM; the second ends the process at once.
[[nodiscard]] const std::atomic<bool>& interrupted();

/// Handles SIGINT and SIGTERM (see interrupted()) and ignores SIGPIPE. A handler, not a waiting thread: libraries start threads of
/// their own before main, and a signal that any of them takes must do the same.
void watch_signals();

/// Refuses (bad_request) a problem whose objective is another than what speed-ups are counted in.
[[nodiscard]] result<void> check_objective(const problem& p);
/// Now, RFC 3339 UTC with milliseconds.
[[nodiscard]] std::string now_text();

}  // namespace kernsmith::actors
