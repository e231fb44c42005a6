// What this machine's cores can do at most, measured with generated kernels through the same runner as everything else.
#pragma once

#include "config/error.hpp"

namespace kernsmith::cpp {

class workbench;

struct machine_peaks {
  double copy_gb_per_s = 0;   ///< large copy, read and written bytes
  double cache_gb_per_s = 0;  ///< copies within the first-level caches
  double gflop_per_s = 0;     ///< f32 multiply-adds, two operations each
};

/// Measures, and returns the best ever seen for this processor model and number of cores: a busy machine shows less than it has. The record
/// is kept in the build cache's folder.
[[nodiscard]] result<machine_peaks> measure_machine_peaks(workbench& bench);

}  // namespace kernsmith::cpp
