// What a shared object does, as a hash: equal for equal machine code, whatever the source's names and comments were.
#pragma once

#include <filesystem>
#include <string>

#include "config/error.hpp"

namespace kernsmith::cpp {

inline constexpr std::size_t max_library_bytes = std::size_t{64} << 20;

struct library_facts {
  std::string machine_code;  ///< hash over code, constants, initial data, and what they refer to
  std::string build_id;      ///< hex of the GNU build id; empty when there is none
  bool exports_launch = false;
};

/// Reads an ELF64 little-endian shared object. The file may be hostile: every offset is checked; `corrupt` when it doesn't hold together.
[[nodiscard]] result<library_facts> inspect_library(const std::string& bytes);

/// The whole file; refuses links, special files and more than `max_library_bytes`.
[[nodiscard]] result<std::string> read_library(const std::filesystem::path& path);

}  // namespace kernsmith::cpp
