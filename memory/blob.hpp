// Stored form of blobs and vectors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::memory {

/// Longest blob, before compression. Logs and profiles are cut to bounded tails long before this.
inline constexpr std::size_t max_blob_bytes = std::size_t{64} << 20;
inline constexpr std::size_t max_vector_dimensions = 4096;

/// [1][zstd frame with its content size]. Errors (bad_request): longer than max_blob_bytes.
[[nodiscard]] result<std::string> pack_blob(std::string_view bytes);
/// Errors (corrupt): damaged, unknown version, or other bytes than those that `content_hash` names.
[[nodiscard]] result<std::string> unpack_blob(std::string_view packed, std::string_view hash);

/// [1][feature version, 4 bytes][float32 ...], little-endian. Errors (bad_request): empty, too long, or not finite.
[[nodiscard]] result<std::string> pack_vector(const std::vector<float>& values, std::uint32_t feature_version);
/// Empty when it was made by another feature version: it can't be compared with today's. Errors (corrupt): damaged.
[[nodiscard]] result<std::vector<float>> unpack_vector(std::string_view packed, std::uint32_t feature_version);

}  // namespace kernsmith::memory
