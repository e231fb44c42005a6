// What was measured of a kernel on a device, sample by sample, for the evidence.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "backends/cuda/workload_timing.hpp"

namespace kernsmith::cuda {

/// kernsmith.samples/1.
[[nodiscard]] nlohmann::json samples_of(const std::vector<workload_measurement>& measured, const problem& p);

/// The outside clock can't have seen less than the device was at work for: then only one of the two accounts can be true.
[[nodiscard]] bool accounts_disagree(const workload_measurement& m);

}  // namespace kernsmith::cuda
