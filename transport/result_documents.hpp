// The documents a session leaves: result.json and report.md, made from its records. Pure functions.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "memory/records.hpp"

namespace kernsmith::transport {

/// Everything the documents tell.
struct session_records {
  memory::session session;
  std::vector<memory::candidate> candidates;    ///< by move
  std::vector<memory::evaluation> evaluations;  ///< in the order in which they were made
  std::string best_source;                      ///< path of best.* relative to the documents; empty when there is none
  std::string evidence;                         ///< path of the evidence folder relative to the documents; may be empty
  std::string problem_path;                     ///< as the user gave it, for "how to reproduce"
  std::vector<std::string> notes;               ///< what the grammar could not fuse, and the like
  std::vector<std::string> advice;              ///< what is known to help against the best's bottleneck, a line each
};

/// The best candidate and its evaluation; null pointers when there is none.
struct best_pair {
  const memory::candidate* candidate = nullptr;
  const memory::evaluation* evaluation = nullptr;
};
/// The candidate that the session names as its best with its last passed evaluation, measured fully rather than quickly.
[[nodiscard]] best_pair best_of(const session_records& records);

/// Ancestors of `candidate`, nearest first, each once.
[[nodiscard]] std::vector<std::string> lineage_of(const memory::candidate& candidate, const std::vector<memory::candidate>& candidates);

/// How the wall time since the first candidate was built was used. Whatever else a session does then (waiting for builds, the control) is
/// the rest. Seconds.
struct measuring_time {
  double span_s = 0;        ///< from the first evaluation's beginning to the session's end
  double evaluating_s = 0;  ///< candidates were verified and timed
  double kernels_s = 0;     ///< of it in kernels: theirs, the baseline's, the reference's
  double profiling_s = 0;   ///< profilers ran on the slot
};
/// Nothing when no candidate was evaluated, or the session was taken up again: its wall time then has gaps.
[[nodiscard]] std::optional<measuring_time> measuring_of(const session_records& records);

/// kernsmith.result/1 (docs/formats/result.md).
[[nodiscard]] nlohmann::json result_document(const session_records& records);
/// kernsmith.evaluation/1.
[[nodiscard]] nlohmann::json evaluation_document(const memory::evaluation& evaluation);
/// report.md: the same for people.
[[nodiscard]] std::string report_document(const session_records& records);

}  // namespace kernsmith::transport
