// A diagnosis in one line, for the live view, reports and lists.
#pragma once

#include <string>

#include "memory/records.hpp"

namespace kernsmith::transport {

/// "memory bandwidth (clear): memory_fraction 91 %, by roofline". Where only a roofline is known, its word and fraction; empty when there
/// is nothing at all.
[[nodiscard]] std::string limit_text(const memory::diagnosis& diagnosis);

/// One piece of evidence: "most of the floating-point arithmetic is scalar: vector_share 4 % of float arithmetic, by callgrind".
[[nodiscard]] std::string evidence_text(const memory::diagnosis_evidence& evidence);

/// Why the profiler itself failed; empty when it did not.
[[nodiscard]] std::string profiler_failure(const memory::diagnosis& diagnosis);

/// "by callgrind, llvm-mca and sampler; without: perf".
[[nodiscard]] std::string means_text(const memory::diagnosis& diagnosis);

}  // namespace kernsmith::transport
