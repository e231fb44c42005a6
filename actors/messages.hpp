// Every message type of the actor system, and nothing else. All of them travel inside one process: records cross a wire only as the bytes
// of memory/codec.hpp, never through CAF's own serialisation (0.17.6 hangs on infinite doubles and mangles NaN).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>

#include "agents/search/search.hpp"
#include "agents/search/session_core.hpp"
#include "backends/harness/evaluator.hpp"
#include "config/problem.hpp"
#include "memory/records.hpp"
#include "memory/store.hpp"

namespace kernsmith::actors {

// Atoms: what is asked for. Ten characters at most.
using admit_atom = caf::atom_constant<caf::atom("admit")>;
using build_atom = caf::atom_constant<caf::atom("build")>;
using evaluate_atom = caf::atom_constant<caf::atom("evaluate")>;
using control_atom = caf::atom_constant<caf::atom("control")>;
using profile_atom = caf::atom_constant<caf::atom("profile")>;
using release_atom = caf::atom_constant<caf::atom("release")>;
using generate_atom = caf::atom_constant<caf::atom("generate")>;
using commit_atom = caf::atom_constant<caf::atom("commit")>;
using recall_atom = caf::atom_constant<caf::atom("recall")>;
using similar_atom = caf::atom_constant<caf::atom("similar")>;
using publish_atom = caf::atom_constant<caf::atom("publish")>;
using run_atom = caf::atom_constant<caf::atom("run")>;
using stop_atom = caf::atom_constant<caf::atom("stop")>;
using progress_atom = caf::atom_constant<caf::atom("progress")>;
using tick_atom = caf::atom_constant<caf::atom("tick")>;
using revive_atom = caf::atom_constant<caf::atom("revive")>;
using replace_atom = caf::atom_constant<caf::atom("replace")>;
using crown_atom = caf::atom_constant<caf::atom("crown")>;

/// A problem is immutable, so all actors share one.
using problem_ptr = std::shared_ptr<const problem>;
using batch_ptr = std::shared_ptr<memory::write_batch>;

/// What is known once a problem has been admitted on this machine.
struct admission {
  memory::fingerprint machine;
  std::vector<memory::baseline_timing> baselines;
  memory::device_facts device;  ///< empty on CPUs
};

/// One session to run.
struct session_request {
  problem_ptr task;
  memory::session settings;  ///< id, policy, seed, budget, ... ; target, e.g. "cpp"
  bool resume = false;       ///< go on with the newest unfinished session of this problem x target when there is one
  std::int64_t threads = 0;
};

/// How a session ended.
struct session_report {
  problem_ptr task;
  memory::session session;
  std::vector<memory::candidate> candidates;  ///< by move
  std::vector<memory::evaluation> history;    ///< by move, then the final measurements
  memory::evaluation best;                    ///< of the winner at full effort; empty id when there is none
  memory::candidate best_candidate;
  std::string best_source;
  std::string halted;         ///< why the session could not go on here, though it can be resumed; empty: it could
  std::int64_t replayed = 0;  ///< evaluations taken over from the interrupted run
  memory::cost spent;
  std::map<std::string, std::string> samples;  ///< candidate id -> raw samples of its final measurement, JSON
};

/// What the terminal view shows of a running session.
struct progress_report {
  std::string session, problem, target, phase;
  std::string unit = "ns";  ///< what speed-ups count, where that isn't time
  std::int64_t evaluations = 0, budget = 0;
  double best_speedup = 0;
  std::string best_decisions;
  std::string bottleneck;  ///< of the best so far, in one line
  std::string profiled;    ///< candidate whose profile said so just now; empty: nothing new
  std::string last_candidate, last_outcome, last_detail;
  double last_speedup = 0;
  bool last_is_final = false;  ///< a final measurement: doesn't count against the budget
  bool finished = false;
};

/// What the store says about an earlier run of a session.
struct recalled_session {
  memory::session session;
  agents::session_history history;
};

/// Results of an evaluation with the raw samples behind it.
struct measured {
  memory::evaluation evaluation;
  std::string samples;  ///< JSON; only at full effort
  memory::cost spent;   ///< of the slot on this session so far, admission included
};

/// What a profiler is asked for.
struct profile_job {
  problem_ptr task;
  std::string target;
  std::uint64_t seed = 1;
  std::string source;
  memory::evaluation measured;  ///< passed; without workloads the profiler times the source itself
};

/// What came of it, and the wall time it took.
struct profile_answer {
  result<memory::profile> profile;
  double seconds = 0;
};

using session_result = result<session_report>;
using admission_result = result<admission>;
using build_result = result<harness::built_kernel>;
using measured_result = result<measured>;
using control_answer = result<memory::control_result>;
using profile_result = result<profile_answer>;
using proposal_result = result<agents::proposal>;
using commit_result = result<std::vector<memory::event>>;
using recall_result = result<recalled_session>;

/// Parameters of a champion of a similar problem.
struct similar_champion {
  memory::candidate candidate;
  std::string problem_name;
  float similarity = 0;
};
using similar_list = std::vector<similar_champion>;

using generators = std::vector<std::shared_ptr<const agents::generator>>;
/// What makes candidates for a problem on a target of an admitted machine.
using generator_factory = std::function<result<generators>(const problem& p, const std::string& target, const admission& machine)>;

}  // namespace kernsmith::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::problem_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::batch_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::session_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::session_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::progress_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::admission_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::build_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::measured_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::control_answer)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::profile_job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::profile_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::proposal_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::commit_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::recall_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::similar_list)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::generators)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::agents::move)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::harness::built_kernel)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::harness::effort)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::memory::champion)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<kernsmith::memory::event>)
