// The course of one session as a deterministic state machine: which candidate is generated, built, evaluated, recorded when, what is
// measured again at the end, and who wins. It does nothing itself: poll() says what has to be done, on_*() says what came of it. The
// planner actor is the shell around it.
//
// A killed session is resumed by giving the core the records that were stored: moves that have one are not made again but observed as they
// were, so that the search continues exactly where an unbroken run would have stood.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "agents/search/profile_schedule.hpp"
#include "agents/search/search.hpp"
#include "memory/records.hpp"

namespace kernsmith::agents {

/// What a build came to, as far as the session cares.
struct build_report {
  std::string outcome;  ///< empty when built, else an outcome word of EVALUATION.md
  std::string detail;
  std::string log;           ///< bounded
  std::string machine_code;  ///< hash
  double build_s = 0;
};

/// Ask a synthesizer for the source of a move; answer with on_generated().
struct generate_step {
  move what;
};
/// Build a source; answer with on_built(). `final_round`: the build is for the last, full measurement.
struct build_step {
  std::int64_t move_id = 0;
  std::string source;
  bool final_round = false;
};
/// Verify and time the built kernel of a move; answer with on_evaluated().
struct evaluate_step {
  std::int64_t move_id = 0;
  bool final_round = false;
};
/// Store these together with their event, then call on_recorded(). `source` and `log` become blobs.
struct record_step {
  std::int64_t move_id = 0;
  bool final_round = false;
  memory::candidate candidate;
  std::string source;
  memory::evaluation evaluation;
  std::string log;
};
/// Measure the baseline against itself; answer with on_control().
struct control_step {};
/// Profile a source; answer with on_profiled(). One at a time.
struct profile_step {
  std::string trigger;    ///< improvement | winner | baseline
  std::string candidate;  ///< id; empty: the baseline
  std::string source;
  memory::evaluation measured;  ///< of the candidate; without workloads for the baseline
};
/// Store these together with their event, then call on_annotated(). `profile` becomes a blob, whose hash goes into what it explains; it has
/// no signals when it is stored already or the profiler failed.
struct annotate_step {
  memory::profile profile;
  std::optional<memory::evaluation> evaluation;  ///< nothing: the session's baseline was profiled
  memory::session session;
};
/// The session has ended: `session` is complete but for the wall time. poll() returns nothing after it.
struct finish_step {
  memory::session session;
};
using step = std::variant<generate_step, build_step, evaluate_step, record_step, control_step, profile_step, annotate_step, finish_step>;

/// What was stored of an earlier, unfinished run of the same session.
struct session_history {
  std::vector<memory::candidate> candidates;
  std::vector<memory::evaluation> evaluations;
  std::map<std::string, std::string> sources;  ///< candidate id -> source text
};

/// How many of the best candidates are measured at full effort at the end, and how many are tried at most when some of them fail it.
inline constexpr std::size_t finalists = 3;
inline constexpr std::size_t max_finalists_tried = 6;

class session_core {
 public:
  /// `session` has its id and settings; `policy` and the `generators` (the search's) outlive the core.
  session_core(memory::session session, search& policy, std::vector<const generator*> generators, session_history history);

  [[nodiscard]] std::vector<step> poll();
  /// Wall time of the session so far, for what is bounded by it: profiles. Nothing else of the session's course depends on it.
  void set_elapsed(double seconds) { elapsed_s_ = seconds; }
  /// What the baseline was built from, where it can be profiled.
  void set_baseline_source(std::string source) { baseline_source_ = std::move(source); }

  void on_generated(std::int64_t move_id, const result<proposal>& made);
  void on_built(std::int64_t move_id, bool final_round, const build_report& report);
  void on_evaluated(std::int64_t move_id, bool final_round, const memory::evaluation& evaluation);
  /// The records as they were stored: with times and blobs.
  void on_recorded(std::int64_t move_id, bool final_round, const memory::candidate& candidate, const memory::evaluation& evaluation);
  void on_control(const memory::control_result& control);
  /// `seconds`: of wall time that profiling took. A failure is kept as what is missing, and costs nothing but the diagnosis.
  void on_profiled(const profile_step& asked, const result<memory::profile>& profile, double seconds);
  /// The records as they were stored: with the profile's blob.
  void on_annotated(const std::optional<memory::evaluation>& evaluation, const memory::session& session);
  /// The work on a move was given up because of an interruption: nothing is recorded, and a resume makes the move again.
  void on_abandoned(std::int64_t move_id, bool final_round);
  /// No new moves. "time" goes on to the final measurements; "interrupted" ends as soon as outstanding work is recorded.
  void stop(const std::string& reason);

  /// Evaluations that count against the budget so far.
  [[nodiscard]] std::int64_t evaluations() const { return counted_; }
  [[nodiscard]] std::int64_t replayed() const { return replayed_; }
  /// All evaluations in the order of their moves; duplicates of an earlier candidate's machine code included.
  [[nodiscard]] std::vector<memory::evaluation> history() const;
  [[nodiscard]] const memory::session& session() const { return session_; }
  [[nodiscard]] std::optional<memory::candidate> candidate_of(std::int64_t move_id) const;
  /// Empty when unknown.
  [[nodiscard]] std::string source_of(const std::string& candidate_id) const;
  [[nodiscard]] double best_speedup() const { return best_speedup_; }
  /// The fastest verified candidate of the search so far, or null.
  [[nodiscard]] const memory::candidate* best_so_far() const;

 private:
  /// dropped: decided ahead, and not covered by the budget.
  enum class phase : std::uint8_t { generating, building, waiting_for_turn, evaluating, recording, done, dropped };
  struct work {
    move what;
    phase at = phase::generating;
    memory::candidate candidate;
    std::string source;
    build_report build;
    memory::evaluation evaluation;
    bool replayed = false;
  };

  void begin(const move& next, std::vector<step>& steps);
  void settle(work& w);
  void release_waiting();
  void drop_from(std::int64_t move_id);
  void adopt_twin(work& w, const work& twin);
  [[nodiscard]] work* twin_of(const work& w);
  void conclude(work& w, std::vector<step>& steps);
  void poll_finals(std::vector<step>& steps);
  void finish(std::vector<step>& steps);
  void poll_profiles(std::vector<step>& steps);
  [[nodiscard]] bool profiles_before_end(std::vector<step>& steps);
  void ask_profile(profile_step asked, std::vector<step>& steps);
  [[nodiscard]] work* best_work();
  [[nodiscard]] work* final_winner();

  memory::session session_;
  search& search_;
  std::vector<const generator*> generators_;
  session_history past_;
  std::map<std::int64_t, work> moves_;
  std::map<std::int64_t, work> finals_;    ///< by move id: the full measurements
  std::vector<std::int64_t> final_order_;  ///< ranking of the moves, best first
  std::optional<std::int64_t> final_now_;
  std::size_t finals_passed_ = 0;
  std::vector<step> queue_;
  std::string stop_reason_;
  std::int64_t counted_ = 0, replayed_ = 0;
  double best_speedup_ = 0;
  double elapsed_s_ = 0;
  std::string baseline_source_;
  profile_schedule profiles_;
  bool profiling_ = false;       ///< asked for or being stored
  std::int64_t best_since_ = 0;  ///< evaluations when the best so far became that
  bool searching_ = true, ranked_ = false, control_asked_ = false, control_known_ = false, finished_ = false;
};

}  // namespace kernsmith::agents
