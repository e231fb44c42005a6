// What a planner holds, and the parts of planner_*.cpp as they call each other.
#pragma once

#include "actors/caf.hpp"
//
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "actors/planner.hpp"

namespace kernsmith::actors {

struct planner_state {
  static inline const char* name = "planner";
  planner_config config;
  caf::typed_response_promise<session_result> promise;
  bool answered = false;
  double started_s = 0;
  generators makers;
  std::vector<const agents::generator*> maker_pointers;
  std::unique_ptr<agents::search> search;
  std::unique_ptr<agents::session_core> core;
  std::map<std::pair<std::int64_t, bool>, harness::built_kernel> built;
  std::map<std::string, std::string> samples;
  admission machine;
  memory::cost spent;
  std::string stop_before_start, phase;
  std::string halted;  ///< by what this machine no longer has
};

using planner_pointer = planner_actor::stateful_pointer<planner_state>;

/// Carries out what the core wants next.
void drive(planner_pointer self);
/// Answers whoever asked for the session, once, and ends the planner.
void answer(planner_pointer self, session_result outcome);
/// Ends the session with an error.
void fail_session(planner_pointer self, const error& why);

inline auto lost(planner_pointer self, std::string what) {
  return [self, what = std::move(what)](const caf::error& reason) { fail_session(self, lost_actor(self->home_system(), what, reason)); };
}

/// Wall time of the session, earlier runs included as far as they could store theirs.
[[nodiscard]] double elapsed_s(planner_pointer self);
/// Tells the presenter how far the session is; `last`: the evaluation that was recorded just now.
void show(planner_pointer self, const std::string& phase, const memory::evaluation* last = nullptr);
/// A profile of the best so far, or of the winner, has come.
void show_limit(planner_pointer self, const memory::evaluation& explained);

void do_profile(planner_pointer self, const agents::profile_step& s);
void do_annotate(planner_pointer self, const agents::annotate_step& s);

}  // namespace kernsmith::actors
