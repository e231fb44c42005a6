// What this device can do at most, measured with trusted device code in the verifier's own context.
#pragma once

#include "backends/cpp/machine_peaks.hpp"
#include "backends/cuda/trusted_kernels.hpp"

namespace kernsmith::cuda {

/// Copy bandwidth of memory and within the second-level cache, and f32 multiply-adds outside of the matrix units. A few milliseconds.
[[nodiscard]] result<cpp::machine_peaks> measure_device_peaks(const std::shared_ptr<device>& on, trusted_kernels& trusted);

}  // namespace kernsmith::cuda
