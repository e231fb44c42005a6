// What a CUDA device did when, from CUPTI's activity records: work and gaps on the device, synchronisations of the host.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace kernsmith::runner {

/// Loads CUPTI and begins to record. Null, or what is missing. Once per process.
[[nodiscard]] const char* start_timeline(const std::string& cupti_library);
/// Ends recording and writes, over all of it: "device_kernels N", "device_copies N" (copies and fills), "device_busy_ns T" (something ran),
/// "device_span_ns T" (from the first start to the last end), "host_syncs N", "host_sync_ns T".
void write_timeline(std::FILE* report);

}  // namespace kernsmith::runner
