// The final table of a run: one row per session.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory/records.hpp"

namespace kernsmith::transport {

struct result_row {
  std::string problem, target, best, stopped_by;
  std::string unit = "ns";  ///< what the speed-up counts, where that isn't time
  double speedup = 0;       ///< over the first baseline
  std::vector<double> ci95;
  std::vector<std::pair<std::string, double>> over_others;  ///< name, speed-up over each further baseline
  double copy_fraction = 0;                                 ///< bytes per second over those of a plain copy; 0: unknown
  double roofline_fraction = 0;                             ///< 0: unknown
  std::string control;                                      ///< verdict of the baseline against itself
  std::int64_t evaluations = 0;
  double wall_s = 0;
  std::string failure;  ///< why there is no result, of which the first line is shown; the rest is then empty
};

/// Lines without line ends. The table of several sessions has more columns than that of one, whose report says it all; those
/// that no row has anything for are left out. Below the table stands why sessions failed.
[[nodiscard]] std::vector<std::string> result_table(std::span<const result_row> rows);

/// Of the best over a baseline: geometric mean over the workloads that both have, by weight, of medians of one session. 0: none.
[[nodiscard]] double speedup_over(const memory::evaluation& best, const memory::baseline_timing& other);

}  // namespace kernsmith::transport
