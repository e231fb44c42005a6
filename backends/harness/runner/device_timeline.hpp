// What a CUDA device did when, from CUPTI's activity records: work and gaps on the device, synchronisations of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace kernsmith::runner {

struct timeline_sums {
  std::size_t kernels = 0, copies = 0;     ///< copies and fills
  std::uint64_t busy_ns = 0, span_ns = 0;  ///< something ran; from the first start to the last end
  std::size_t syncs = 0;                   ///< the host waited for the device
  double sync_ns = 0;
};

/// Loads CUPTI, once per process, and begins to record. Null, or what is missing.
[[nodiscard]] const char* start_timeline(const std::string& cupti_library);
/// Ends recording: what was recorded since start_timeline().
[[nodiscard]] timeline_sums end_timeline();
/// The same as lines: "device_kernels N", "device_copies N", "device_busy_ns T", "device_span_ns T", "host_syncs N", "host_sync_ns T".
void write_timeline(std::FILE* report);

}  // namespace kernsmith::runner
