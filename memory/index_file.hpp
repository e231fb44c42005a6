// The cached file of a similarity index. FAISS's own form has no checksum (a flipped bit is accepted), so it travels inside ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::memory {

/// What the index was made from. A file whose stamp differs from the store's is stale.
struct index_stamp {
  std::uint64_t feature_version = 0, dimensions = 0, vector_version = 0;
  std::string stream;  ///< the store's, so that a file copied from another store is never taken
  friend bool operator==(const index_stamp&, const index_stamp&) = default;
};

struct index_snapshot {
  index_stamp stamp;
  std::vector<std::string> ids;  ///< by position in the index
  std::string index;             ///< FAISS's bytes
};

inline constexpr std::uint64_t max_index_file_bytes = std::uint64_t{1} << 30;

/// Written beside, synced and renamed, so that a reader never sees half of it. Errors: infrastructure.
[[nodiscard]] result<void> write_index_file(const std::filesystem::path& file, const index_snapshot& snapshot);
/// Errors: missing_here (no file), corrupt (damaged in any bit).
[[nodiscard]] result<index_snapshot> read_index_file(const std::filesystem::path& file);

}  // namespace kernsmith::memory
