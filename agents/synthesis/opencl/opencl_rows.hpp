// Kernels of row programs: vectors along a row (reductions over the lanes, and over the work-items that share a row), or across rows (each
// lane has a row of its own).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agents/synthesis/simt/simt_program.hpp"

namespace kernsmith::agents::opencl {

struct row_choice {
  bool across = false;
  std::int64_t vector = 8;  ///< elements in a vector; 1: scalars
  std::int64_t packs = 1;   ///< vectors side by side in one step
  std::int64_t tall = 1;    ///< across: values of another row index that an item takes together
  std::int64_t group = 16;  ///< work-items in a work-group, where they don't share rows
  bool fast_powers = false;
  bool double_sums = false;  ///< accumulators in double, and what is made of sums between the sweeps of a row
  std::int64_t items = 1;    ///< along: work-items that share a row; a work-group is then one row
};

struct row_kernel {
  std::string functions, command;
};

/// The class along which vectors lie in a row, if all sweeps run over it alone.
[[nodiscard]] std::optional<int> along_class(const simt::simt_program& p);
/// The class along which vectors of neighbouring rows lie.
[[nodiscard]] std::optional<int> across_class(const simt::simt_program& p);
/// A row index beside that one whose neighbours read something in common: a product's.
[[nodiscard]] std::optional<int> tall_class(const simt::simt_program& p);
/// Does the program find positions of extremes? Those are found by scalars.
[[nodiscard]] bool finds_positions(const simt::simt_program& p);
[[nodiscard]] bool has_scan(const simt::simt_program& p);

/// `p` is an analysis of with_device_names(host); `choice` is possible for it.
[[nodiscard]] row_kernel write_rows(const simt::simt_program& p, const tensor_ir& host, const row_choice& choice);

}  // namespace kernsmith::agents::opencl
