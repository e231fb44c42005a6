// Running one kernel by itself, without a verifier on the other end: what profilers are wrapped around.
//
//     kernsmith-runner profile MANIFEST REPORT
//
// MANIFEST, one entry a line (backends/harness/profile_run.cpp writes it):
//     library PATH            threads N            workspace BYTES      axes EXTENT...
//     device ORDINAL DRIVER   tensors lie on a CUDA device, reached by the driver's library; calls are made 20 at a time and then waited
//     for warm N                  calls before anything is counted calls N  seconds S      at least N counted calls, going on until S
//     seconds have passed sample 0|1              interrupt the threads every millisecond of CPU time and note where they are input DTYPE
//     BYTES RANK EXTENT... PATH        contents are read from the file output DTYPE BYTES RANK EXTENT...
// REPORT, likewise, and what device_timeline.hpp writes:
//     calls N                 call_ns MEDIAN       wall_ns ALL          cpu_ns ALL_THREADS
//     event_ns ALL            a device's own time for the calls
//     sample THREAD COUNT OFFSET OBJECT            OFFSET in hexadecimal, from where the object was loaded
#pragma once

namespace kernsmith::runner {

/// 0 when the report was written; else a message on stderr and 1.
int run_profile(int argc, char** argv);

/// The counted calls go through this function, so that a simulator can be told by its name when to count.
inline constexpr const char* profiled_call_symbol = "kernsmith_profiled_call";

}  // namespace kernsmith::runner
