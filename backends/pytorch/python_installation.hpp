// The Python on this machine that has PyTorch: where it is, what it consists of, which versions.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::pytorch {

struct python_installation {
  std::filesystem::path program;                ///< with it a virtual environment is found again
  std::string version;                          ///< "3.11.2"
  std::vector<std::filesystem::path> folders;   ///< beyond the system's own that it reads from: what a sandbox must show
  std::vector<std::string> search_path;         ///< of its modules
  std::map<std::string, std::string> packages;  ///< installed ones of those that kernels are written with: name -> version
  [[nodiscard]] bool has(const std::string& package) const { return packages.count(package) > 0; }
};

/// How to get PyTorch, for messages.
inline constexpr const char* remedy = "scripts/setup --with pytorch installs it from Debian; another Python is named in KERNSMITH_PYTHON";

/// $KERNSMITH_PYTHON; else the first python3 on the path, or in /usr/bin, that has the package torch. Nothing is imported to find it.
/// missing_here with what was looked at. Asked once per process.
[[nodiscard]] result<python_installation> find_python();

}  // namespace kernsmith::pytorch
