// What `bench suite` makes of many sessions: a table, a document, a report. Values in, values out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace kernsmith::transport {

/// The speed-ups for which fast_p is counted: the share of problems that are right and faster than this.
inline constexpr std::array<double, 4> fast_thresholds{1.0, 1.1, 1.5, 2.0};

/// How a problem ended on a target. Only `correct` has numbers.
enum class suite_status : std::uint8_t {
  correct,      ///< a candidate was verified
  unverified,   ///< the session ended without a verified candidate
  refused,      ///< the problem or the request was refused: it never got as far as a candidate
  missing,      ///< something that it needs is missing on this machine
  failed,       ///< Kernsmith or a helper of it broke, or took longer than allowed
  interrupted,  ///< stopped from outside; not counted as ended
};

[[nodiscard]] std::string status_name(suite_status status);
/// `failed` for a name that is none.
[[nodiscard]] suite_status status_named(const std::string& name);

/// One problem on one target.
struct suite_entry {
  std::string file;      ///< as found in the folder: "norm_layer.py"
  std::string category;  ///< part of the file's name before the first '_', or what the file says
  std::string target;
  suite_status status = suite_status::failed;
  std::string reason;  ///< one line; of every status but `correct`
  std::string candidate;
  std::string baseline;      ///< what `speedup` is counted against
  double speedup = 0;        ///< geometric mean over the workloads; 0 unless correct
  std::vector<double> ci95;  ///< [lo, hi], or empty
  std::string verdict;  ///< faster, slower, no_difference: whether the interval excludes 1 by more than the control's noise; else empty
  std::map<std::string, double> over;  ///< the same speed-up over each other baseline
  std::int64_t evaluations = 0;
  std::string stopped_by;
  double wall_s = 0;
  std::string folder;  ///< with the session's documents, relative to the suite's
};

/// What is said of a set of entries on one target.
struct suite_summary {
  std::string target;
  std::string category;  ///< empty: all
  std::int64_t problems = 0, correct = 0, refused = 0;
  std::array<std::int64_t, fast_thresholds.size()> fast{};  ///< correct and faster than the threshold
  double geomean = 0;                                       ///< of those that are correct; 0: none
  double least = 0;                                         ///< the lowest speed-up among them
  std::int64_t faster = 0, slower = 0, no_difference = 0;

  /// Over another baseline, of the entries for which it was measured.
  struct comparison {
    std::int64_t problems = 0;
    std::array<std::int64_t, fast_thresholds.size()> fast{};
    double geomean = 0;
  };
  std::map<std::string, comparison> over;
};

/// A run of a suite.
struct suite_run {
  std::string folder;                  ///< as the user gave it
  std::vector<std::string> targets;    ///< in the order in which they were asked for
  std::string sizes;                   ///< of sizes.toml; empty: the problems' own
  std::vector<std::string> arguments;  ///< of each `optimize`
  std::string started;
  double wall_s = 0;
  bool finished = false;
  nlohmann::json fingerprint;  ///< of the first session that got that far, or null
  std::vector<suite_entry> entries;
};

/// What a session's result document (kernsmith.result/1) says: fills everything but file, category and folder.
void read_result(const nlohmann::json& document, suite_entry& entry);

/// For each target: one summary of everything, then one for each category by name. Interrupted entries aren't counted.
[[nodiscard]] std::vector<suite_summary> summarise(const suite_run& run);

/// An entry alone, and back: what `--resume` keeps of a problem that has ended.
[[nodiscard]] nlohmann::json entry_document(const suite_entry& entry);
[[nodiscard]] suite_entry entry_of(const nlohmann::json& document);

/// kernsmith.suite/1.
[[nodiscard]] nlohmann::json suite_document(const suite_run& run);
/// The same for people, as Markdown.
[[nodiscard]] std::string suite_report(const suite_run& run);
/// Lines for a terminal: the table by category, wins, losses, what isn't correct.
[[nodiscard]] std::vector<std::string> suite_table(const suite_run& run);
/// One entry as a line: "norm_layer  1.82x [1.79, 1.85] faster, 6 evaluations, 12 s".
[[nodiscard]] std::string entry_line(const suite_entry& entry);

}  // namespace kernsmith::transport
