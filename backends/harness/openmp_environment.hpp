// The variables that place a kernel's threads, complete before its library (and libgomp with it) loads.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace kernsmith::harness {

/// One thread per core of `cores`, each bound to its core in this order; also for OpenBLAS, which reads its own variable.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> openmp_environment(const std::vector<int>& cores);

}  // namespace kernsmith::harness
