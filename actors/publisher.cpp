#include "actors/caf.hpp"
//
#include "actors/publisher.hpp"

namespace kernsmith::actors {

publisher_actor::behavior_type publisher(publisher_actor::stateful_pointer<publisher_state> self, publisher_config config) {
  guard(self, publisher_state::name);
  self->state.config = std::move(config);
  return {
      [self](publish_atom, const std::vector<memory::event>& events) {
        if (!self->state.config.send) return;
        for (const memory::event& e : events) self->state.config.send(e);
      },
  };
}

}  // namespace kernsmith::actors
