// PROFILER: why a candidate is as fast as it is. One per device slot, beside its evaluator; the two take turns. Blocks: spawn detached.
#pragma once

#include "actors/evaluator_slot.hpp"
#include "actors/interfaces.hpp"

namespace kernsmith::actors {

struct profiler_state {
  static inline const char* name = "profiler";
  slot_config config;
};

profiler_actor::behavior_type profiler_slot(profiler_actor::stateful_pointer<profiler_state> self, slot_config config);

}  // namespace kernsmith::actors
