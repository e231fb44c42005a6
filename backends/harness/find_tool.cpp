#include "backends/harness/find_tool.hpp"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace kernsmith::harness {

namespace fs = std::filesystem;

std::optional<fs::path> find_tool(const std::string& name) {
  const char* const set = std::getenv("PATH");
  std::istringstream folders(set != nullptr && *set != '\0' ? set : "/usr/local/bin:/usr/bin:/bin");
  std::error_code ignored;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path candidate = fs::path(folder) / name;
    if (candidate.is_absolute() && ::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return std::nullopt;
}

}  // namespace kernsmith::harness
