// The system's table of contents: every actor's typed interface, a sentence per handler. The tree:
//
//   supervisor
//   ├─ librarian      the only writer of the store; retrieval
//   ├─ publisher      outbox events to ZeroMQ subscribers
//   ├─ synthesizer    makes sources from decisions
//   ├─ fleet          this host's device slots: one evaluator per slot, builders beside them; restarts what died, gives its job out again
//   │   ├─ evaluator ×slot
//   │   ├─ profiler ×slot
//   │   └─ builder ×build core
//   ├─ presenter      what a person watching sees
//   └─ coordinator    takes sessions, one planner each
//       └─ planner ×session
#pragma once

#include <caf/replies_to.hpp>
#include <caf/typed_actor.hpp>

#include "actors/messages.hpp"

namespace kernsmith::actors {

using publisher_actor = caf::typed_actor<
    /// Sends committed events to subscribers. Never blocks, never fails a session.
    caf::reacts_to<publish_atom, std::vector<memory::event>>>;

using synthesizer_actor = caf::typed_actor<
    /// The source of a move, by the generator that the move names.
    caf::replies_to<generate_atom, generators, agents::move>::with<proposal_result>>;

using librarian_actor = caf::typed_actor<
    /// Commits a batch (durably) and passes its events on to the publisher.
    caf::replies_to<commit_atom, batch_ptr>::with<commit_result>,
    /// Commits a batch and, in it, the champion if it beats the one that the store has for its problem x target x device.
    caf::replies_to<crown_atom, batch_ptr, memory::champion>::with<commit_result>,
    /// The newest unfinished session of problem hash x target with everything stored of it; bad_request when there is none.
    caf::replies_to<recall_atom, std::string, std::string>::with<recall_result>,
    /// Champions of the problems most like this one for the target, most similar first; at most the given number.
    caf::replies_to<similar_atom, problem_ptr, std::string, std::uint64_t>::with<similar_list>,
    /// The publisher was started again: use this one.
    caf::reacts_to<replace_atom, publisher_actor>>;

using builder_actor = caf::typed_actor<
    /// Builds a source for a session's problem.
    caf::replies_to<build_atom, std::string, std::string>::with<build_result>>;

using evaluator_actor = caf::typed_actor<
    /// Admits the problem on this slot for a target: reference, baselines, null candidates.
    caf::replies_to<admit_atom, std::string, problem_ptr, std::string, std::uint64_t>::with<admission_result>,
    /// Verifies and times a built kernel.
    caf::replies_to<evaluate_atom, std::string, harness::built_kernel, harness::effort>::with<measured_result>,
    /// Measures the session's baseline against itself.
    caf::replies_to<control_atom, std::string>::with<control_answer>,
    /// Drops what is held for a session.
    caf::reacts_to<release_atom, std::string>>;

using profiler_actor = caf::typed_actor<
    /// Profiles a source and says what limits it. Waits until the slot's evaluator is between two measurements.
    caf::replies_to<profile_atom, std::string, profile_job>::with<profile_result>>;

/// Conforms to the protocols of evaluator_actor, builder_actor and profiler_actor, over all slots of the host. A job whose slot died is
/// given out again, twice at most.
using fleet_actor =
    caf::typed_actor<caf::replies_to<admit_atom, std::string, problem_ptr, std::string, std::uint64_t>::with<admission_result>,
                     caf::replies_to<build_atom, std::string, std::string>::with<build_result>,
                     caf::replies_to<evaluate_atom, std::string, harness::built_kernel, harness::effort>::with<measured_result>,
                     caf::replies_to<control_atom, std::string>::with<control_answer>,
                     caf::replies_to<profile_atom, std::string, profile_job>::with<profile_result>,
                     caf::reacts_to<release_atom, std::string>,
                     /// INTERNAL: a slot whose back-off is over is started again.
                     caf::reacts_to<revive_atom, std::uint64_t>>;

using presenter_actor = caf::typed_actor<
    /// Shows how far a session is.
    caf::reacts_to<progress_atom, progress_report>,
    /// Shows a line that a person should read now.
    caf::reacts_to<progress_atom, std::string>,
    /// INTERNAL: redraw of the clock.
    caf::reacts_to<tick_atom>>;

using planner_actor = caf::typed_actor<
    /// Runs the session to its end; answers once.
    caf::replies_to<run_atom>::with<session_result>,
    /// Ends early: "time" (with final measurements) or "interrupted".
    caf::reacts_to<stop_atom, std::string>,
    /// The synthesizer was started again: use this one.
    caf::reacts_to<replace_atom, synthesizer_actor>,
    /// INTERNAL: the time limit.
    caf::reacts_to<tick_atom>>;

using coordinator_actor = caf::typed_actor<
    /// Runs a session, after those accepted before it; answers when it has ended. A planner that dies is replaced and goes on from the
    /// store.
    caf::replies_to<run_atom, session_request>::with<session_result>,
    /// Interrupts all sessions; those that wait are answered as interrupted.
    caf::reacts_to<stop_atom, std::string>,
    /// The synthesizer was started again: tell the planners.
    caf::reacts_to<replace_atom, synthesizer_actor>>;

using supervisor_actor = caf::typed_actor<
    /// Passed on to the coordinator. When a part that can't be replaced dies, everything still running is answered with an error of kind
    /// bug.
    caf::replies_to<run_atom, session_request>::with<session_result>, caf::reacts_to<stop_atom, std::string>,
    /// INTERNAL: a child whose back-off is over is started again.
    caf::reacts_to<revive_atom, std::uint64_t>>;

}  // namespace kernsmith::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::publisher_actor)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(kernsmith::actors::synthesizer_actor)
