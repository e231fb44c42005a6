#include "actors/caf.hpp"
//
#include "actors/synthesizer.hpp"

namespace kernsmith::actors {

synthesizer_actor::behavior_type synthesizer(synthesizer_actor::stateful_pointer<synthesizer_state> self) {
  guard(self, synthesizer_state::name);
  return {
      [](generate_atom, const generators& all, const agents::move& what) -> proposal_result {
        if (what.generator >= all.size()) return fail(fault::bug, "a move names a generator that the session doesn't have");
        return all[what.generator]->generate(what.decisions);
      },
  };
}

}  // namespace kernsmith::actors
