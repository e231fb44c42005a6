// SYNTHESIZER (rules): turns the decisions of a move into source. All thinking is in agents/synthesis.
#pragma once

#include "actors/interfaces.hpp"

namespace kernsmith::actors {

struct synthesizer_state {
  static inline const char* name = "synthesizer";
};

synthesizer_actor::behavior_type synthesizer(synthesizer_actor::stateful_pointer<synthesizer_state> self);

}  // namespace kernsmith::actors
