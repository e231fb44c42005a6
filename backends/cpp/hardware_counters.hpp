// Whether the processor's event counters can be read here.
#pragma once

#include <string>

namespace kernsmith::cpp {

struct counter_access {
  bool readable = false;
  std::string reason;  ///< what was found
  std::string remedy;  ///< empty where there is none
};

/// Asks for a cycle counter of this thread.
[[nodiscard]] counter_access probe_hardware_counters();

}  // namespace kernsmith::cpp
