// Where an optional tool of the system is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace kernsmith::harness {

/// The first program of that name on $PATH, else in the places where distributions put programs.
[[nodiscard]] std::optional<std::filesystem::path> find_tool(const std::string& name);

}  // namespace kernsmith::harness
