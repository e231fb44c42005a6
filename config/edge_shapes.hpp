// Small shapes at which kernels break: extents of 1, odd ones, one below and above a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith {

/// Bounds of what edge_axes and hidden_axes propose, so that checking them stays cheap.
inline constexpr std::int64_t max_edge_elements = std::int64_t{1} << 20;    ///< per tensor
inline constexpr std::int64_t max_edge_operations = std::int64_t{1} << 24;  ///< evaluations of statements' bodies, all together

/// At most `limit` sets of axes, each legal by check_axes and within the bounds above, none of them twice, none a workload, most telling
/// first. Deterministic. Few or none when the shapes can't vary. A problem with a reference has no statements to count; there the product
/// of all axes stands for the operations.
[[nodiscard]] std::vector<std::vector<std::int64_t>> edge_axes(const problem& p, std::size_t limit);

/// One legal set of axes drawn by `seed`, each extent between 1 and the largest that a workload has, within the bounds above (an axis grows
/// further only where loads need it). When no drawn shape is legal: the first edge shape, else the first workload.
[[nodiscard]] std::vector<std::int64_t> hidden_axes(const problem& p, std::uint64_t seed);

}  // namespace kernsmith
