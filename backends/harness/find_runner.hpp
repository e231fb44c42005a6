// Where the kernsmith-runner program is.
#pragma once

#include <filesystem>

#include "config/error.hpp"

namespace kernsmith::harness {

/// $KERNSMITH_RUNNER if set; else kernsmith-runner beside this program, in ../libexec or ../bin of it, or (test programs) in bin/ beside it
/// or above it. missing_here with the places looked at.
[[nodiscard]] result<std::filesystem::path> find_runner();
/// kernsmith-runner.so, the same for interpreters: beside the other, or in a folder above it (bundles).
[[nodiscard]] result<std::filesystem::path> find_hosted_runner();
/// Is a file, by its path as a runner's process has it mapped, one of these two? Not by its name alone: a candidate can write a file of
/// that name. In a bundle the program itself stands a folder above what find_runner() names.
[[nodiscard]] bool is_runner_file(const std::filesystem::path& mapped);

}  // namespace kernsmith::harness
