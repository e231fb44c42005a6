// One problem of a suite: an `optimize` of this same program in a process of its own, so that nothing that a problem does, not even a crash
// of Kernsmith, ends the suite.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/error.hpp"
#include "transport/suite_documents.hpp"

namespace kernsmith::actors {

/// Problem files of `folder` (not of folders in it) by name: .py and .toml but sizes.toml, those that match any of `filters` (shell
/// patterns against the name with and without its ending; none: all). bad_request for a folder that isn't there, and where nothing is left.
[[nodiscard]] result<std::vector<std::filesystem::path>> find_suite_problems(const std::filesystem::path& folder,
                                                                             const std::vector<std::string>& filters);

/// What a line `# category: NAME` in the file says, else its name up to the first '_'.
[[nodiscard]] std::string category_of(const std::filesystem::path& file);

struct suite_problem {
  std::filesystem::path file;
  std::string target;
  std::filesystem::path folder;        ///< for the session's documents and log.txt
  std::vector<std::string> arguments;  ///< of `optimize`, besides the file, the target and the output
  double limit_s = 0;                  ///< the child is killed after this
};

/// Runs it to its end and fills everything but `folder`. A signal that asks this process to stop is passed on to the child.
[[nodiscard]] transport::suite_entry run_suite_problem(const suite_problem& problem, nlohmann::json& fingerprint);

}  // namespace kernsmith::actors
