// PRESENTER: what a person watching sees. Drawing is a function passed in, so tests read lines instead of a terminal.
#pragma once

#include <functional>

#include "actors/interfaces.hpp"

namespace kernsmith::actors {

struct presenter_config {
  std::function<void(const progress_report&)> show;
  std::function<void(const std::string&)> say;
  std::function<void()> redraw;  ///< called once a second for the clock; may be empty
};

struct presenter_state {
  static inline const char* name = "presenter";
  presenter_config config;
};

presenter_actor::behavior_type presenter(presenter_actor::stateful_pointer<presenter_state> self, presenter_config config);

}  // namespace kernsmith::actors
