// The files that a finished session leaves in its output folder.
#pragma once

#include <filesystem>

#include <nlohmann/json.hpp>

#include "actors/messages.hpp"

namespace kernsmith::actors {

/// Can files be written below this folder? Leaves nothing behind.
[[nodiscard]] result<void> check_output(const std::filesystem::path& folder);

/// Writes result.json, report.md, best.<ext> and evidence/; gives the result document. `problem_path`: as it has to be typed again.
[[nodiscard]] result<nlohmann::json> write_session(const std::filesystem::path& folder, const session_report& report,
                                                   const std::string& problem_path);

}  // namespace kernsmith::actors
