// What the operating system says about this machine's processor.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/records.hpp"

namespace kernsmith::cpp {

struct machine_facts {
  std::string model, isa, kernel, os, governor;
  std::int64_t last_level_cache_bytes = 0;  ///< 0: unknown
};

[[nodiscard]] machine_facts read_machine_facts();
/// "x86-64-v4", "x86-64-v3", ...: the highest level whose instructions this processor has.
[[nodiscard]] std::string instruction_level();
/// CPU ids this process may run on.
[[nodiscard]] std::vector<int> usable_cores();

}  // namespace kernsmith::cpp
