// PUBLISHER: committed events to ZeroMQ subscribers. A machine without a free port still optimises: nobody is told, and the log says so
// once.
#pragma once

#include <functional>

#include "actors/interfaces.hpp"

namespace kernsmith::actors {

struct publisher_config {
  /// Hands one event to the outside; must not block.
  std::function<void(const memory::event&)> send;
};

struct publisher_state {
  static inline const char* name = "publisher";
  publisher_config config;
};

publisher_actor::behavior_type publisher(publisher_actor::stateful_pointer<publisher_state> self, publisher_config config);

}  // namespace kernsmith::actors
