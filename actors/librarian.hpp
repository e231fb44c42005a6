// LIBRARIAN: the only writer of the store, and retrieval from it.
#pragma once

#include <memory>

#include "actors/interfaces.hpp"
#include "memory/store.hpp"

namespace kernsmith::actors {

struct librarian_config {
  std::shared_ptr<memory::store> store;
  publisher_actor publisher;  ///< may be invalid: nobody is told
};

struct librarian_state {
  static inline const char* name = "librarian";
  librarian_config config;
};

/// Blocks in the store: spawn detached.
librarian_actor::behavior_type librarian(librarian_actor::stateful_pointer<librarian_state> self, librarian_config config);

}  // namespace kernsmith::actors
