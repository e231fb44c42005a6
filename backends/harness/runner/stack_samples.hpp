// Where a process's threads spend their CPU time, by interrupting them: needs no counters and no rights.
#pragma once

#include <cstdio>

namespace kernsmith::runner {

/// Starts a timer over the CPU time of all threads; each expiry notes one thread's instruction pointer. Once per process.
void start_sampling();
void stop_sampling();
/// Writes "sample THREAD COUNT OFFSET OBJECT" lines, and "samples_lost N" where the room was too small.
void write_samples(std::FILE* report);

}  // namespace kernsmith::runner
