// Sizes for the problems of a suite: a file `sizes.toml` beside them, with a table for each problem and kind of size.
//
//     [norm_layer.gpu]
//     ROWS = 65536
//     FEATURES = 4096
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/error.hpp"

namespace kernsmith {

/// Axes with their extents, in the order of the file.
using suite_axes = std::vector<std::pair<std::string, std::int64_t>>;

/// The axes of each problem (by file name without its ending) that has sizes called `which`. bad_request, with the place, where the file
/// can't be read, isn't of this form, or has no such sizes at all.
[[nodiscard]] result<std::map<std::string, suite_axes>> load_suite_sizes(const std::filesystem::path& file, const std::string& which);

}  // namespace kernsmith
