// The folder of built objects. An entry is a folder named by the hash of all that went into it, renamed into place whole.
//
//     objects/<key>/record      first line: hash of the rest; then one JSON object
//     objects/<key>/kernel.so   absent for a source that does not compile
//     objects/<key>/kernels/    device code beside it, where the language has some
//     work/<pid>-<n>/           builds under way
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "backends/cpp/toolchain.hpp"

namespace kernsmith::cpp {

/// When there are more entries than the first, the least recently used go until the second is left. A kernel takes some 20 KB.
inline constexpr std::size_t max_cache_entries = 50'000;
inline constexpr std::size_t kept_cache_entries = 40'000;

class build_cache {
 public:
  /// Makes the folders, removes builds that dead processes left behind, and the oldest entries when there are too many.
  [[nodiscard]] static result<build_cache> open(const std::filesystem::path& root, std::size_t max_entries = max_cache_entries,
                                                std::size_t kept_entries = kept_cache_entries);

  /// The cache in a folder that open() has made ready.
  explicit build_cache(std::filesystem::path root) : root_(std::move(root)) {}
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }

  /// The entry, if it is whole: its record and its library match their hashes. Anything else is as if it were not there.
  [[nodiscard]] std::optional<built_kernel> find(const std::string& key) const;

  /// An empty folder of this build's own. The caller removes it.
  [[nodiscard]] result<std::filesystem::path> make_work_folder() const;

  /// Turns `work`, which holds kernel.so when `kernel.outcome` is empty, into the entry `key`; `kernel.library` becomes its place.
  [[nodiscard]] result<void> keep(const std::string& key, const std::filesystem::path& work, const std::string& library_bytes,
                                  built_kernel& kernel) const;

 private:
  std::filesystem::path root_;
};

/// Writes a whole file; infrastructure with path and reason (disk full, read-only) when it can't.
[[nodiscard]] result<void> write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace kernsmith::cpp
