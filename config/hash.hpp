// Content hashes (XXH3, 128 bits) and the short ids made of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kernsmith {

/// 32 lower-case hex digits of XXH3-128 over `bytes`.
[[nodiscard]] std::string content_hash(std::string_view bytes);
[[nodiscard]] std::string content_hash(std::span<const std::byte> bytes);

/// 64-bit hash with a seed, for deterministic derivation of sub-seeds ("session seed" + "purpose").
[[nodiscard]] std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose);

/// Object id "<prefix>-<12 hex>", e.g. make_id("cand", source) -> "cand-0a1b2c3d4e5f".
[[nodiscard]] std::string make_id(std::string_view prefix, std::string_view content);

}  // namespace kernsmith
