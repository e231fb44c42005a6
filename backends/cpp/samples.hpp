// The raw samples of a measurement as JSON (kernsmith.samples/1), for the evidence folder.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "backends/cpp/workload_timing.hpp"

namespace kernsmith::cpp {

/// Every block of every workload: times per call in nanoseconds by the outside clock, and how the processor ran around it where that shows.
[[nodiscard]] nlohmann::json samples_of(const std::vector<workload_measurement>& measured);

}  // namespace kernsmith::cpp
