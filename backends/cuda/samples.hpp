// What was measured of a kernel on a device, sample by sample, for the evidence.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "backends/cuda/workload_timing.hpp"

namespace kernsmith::cuda {

/// kernsmith.samples/1.
[[nodiscard]] nlohmann::json samples_of(const std::vector<workload_measurement>& measured, const problem& p);

/// Device time of one call on each workload, by CUPTI where there is one. After everything else that `process` is used for: its library is
/// foreign code there, and slows it down. An error only when it is interrupted: a second opinion that can't be had is none.
[[nodiscard]] result<void> count_device_time(workbench& bench, kernel_process& process, std::vector<workload_measurement>& measured);

/// The outside clock can't have seen less than the device was at work for: then only one of the two accounts can be true.
[[nodiscard]] bool accounts_disagree(const workload_measurement& m);

}  // namespace kernsmith::cuda
