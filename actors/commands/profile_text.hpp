// A profile for people: what limits the kernel, the evidence, the roofline, what to try, and what could not be read.
#pragma once

#include <string>

#include "memory/records.hpp"

namespace kernsmith::actors {

[[nodiscard]] std::string profile_text(const memory::profile& p, bool all_signals);

}  // namespace kernsmith::actors
