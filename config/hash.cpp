#include "config/hash.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace kernsmith {

namespace {

constexpr std::size_t short_id_digits = 12;

std::string hash_hex(const void* data, std::size_t size) {
  const XXH128_hash_t value = XXH3_128bits(data, size);
  return fmt::format("{:016x}{:016x}", value.high64, value.low64);
}

}  // namespace

std::string content_hash(std::string_view bytes) {
  return hash_hex(bytes.data(), bytes.size());
}

std::string content_hash(std::span<const std::byte> bytes) {
  return hash_hex(bytes.data(), bytes.size());
}

std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose) {
  return XXH3_64bits_withSeed(purpose.data(), purpose.size(), seed);
}

std::string make_id(std::string_view prefix, std::string_view content) {
  return fmt::format("{}-{}", prefix, content_hash(content).substr(0, short_id_digits));
}

}  // namespace kernsmith
