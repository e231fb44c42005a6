// A profile for people: what limits the kernel, the evidence, the roofline, what to try, and what could not be read.
#pragma once

#include <string>

#include "memory/records.hpp"

namespace kernsmith::actors {

/// What a diagnosis says: bottleneck, evidence, what to try. Nothing where only a roofline is known.
[[nodiscard]] std::string diagnosis_text(const memory::diagnosis& d);
[[nodiscard]] std::string profile_text(const memory::profile& p, bool all_signals);

}  // namespace kernsmith::actors
