// External targets by name or file. Those given as files are remembered for the life of the process, so that a target's name is enough
// wherever it travels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/external_target.hpp"

namespace kernsmith::external {

/// "external/riscv-vector".
[[nodiscard]] std::string target_name(const external_target& target);

/// By file ("path/target.toml"), registered name ("riscv-vector") or whole name ("external/riscv-vector"). Nothing when it is none of
/// these; an error when its file is wrong. Thread-safe.
[[nodiscard]] std::optional<result<external_target>> find_target(const std::string& name);

/// Names that find_target knows.
[[nodiscard]] std::vector<std::string> target_names();

}  // namespace kernsmith::external
