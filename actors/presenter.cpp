#include "actors/caf.hpp"
//
#include "actors/presenter.hpp"

namespace kernsmith::actors {
namespace {

constexpr std::chrono::milliseconds redraw_period_ms{1000};

}  // namespace

presenter_actor::behavior_type presenter(presenter_actor::stateful_pointer<presenter_state> self, presenter_config config) {
  guard(self, presenter_state::name);
  self->state.config = std::move(config);
  if (self->state.config.redraw) self->delayed_send(self, redraw_period_ms, tick_atom::value);
  return {
      [self](progress_atom, const progress_report& report) {
        if (self->state.config.show) self->state.config.show(report);
      },
      [self](progress_atom, const std::string& line) {
        if (self->state.config.say) self->state.config.say(line);
      },
      [self](tick_atom) {
        self->state.config.redraw();
        self->delayed_send(self, redraw_period_ms, tick_atom::value);
      },
  };
}

}  // namespace kernsmith::actors
