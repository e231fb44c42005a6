// A unified diff of two texts by lines.
#pragma once

#include <string>

namespace kernsmith::actors {

/// Unified diff with three lines of context, or empty when the texts are equal. Texts of more than max_diff_lines lines each are compared
/// without looking for moved common lines.
[[nodiscard]] std::string line_diff(const std::string& left, const std::string& right, const std::string& left_name,
                                    const std::string& right_name);
inline constexpr std::size_t max_diff_lines = 4000;

}  // namespace kernsmith::actors
