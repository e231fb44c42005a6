// Keys of the store. Integers are eight bytes, most significant first, so that byte order is number order; names are ended by a zero byte,
// which no name contains, so that no name's range reaches into another's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kernsmith::memory {

inline constexpr std::size_t number_bytes = 8;

[[nodiscard]] inline std::string big_endian(std::uint64_t value) {
  std::string out(number_bytes, '\0');
  for (std::size_t i = 0; i < number_bytes; ++i) out[i] = static_cast<char>((value >> (8 * (number_bytes - 1 - i))) & 0xFF);
  return out;
}

/// The number in the first eight bytes; 0 when there are fewer.
[[nodiscard]] inline std::uint64_t from_big_endian(std::string_view bytes) {
  if (bytes.size() < number_bytes) return 0;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < number_bytes; ++i) value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  return value;
}

/// `name` and its end mark.
[[nodiscard]] inline std::string ended(std::string_view name) {
  std::string out(name);
  out.push_back('\0');
  return out;
}

/// The part of `key` before its first end mark.
[[nodiscard]] inline std::string_view first_name(std::string_view key) {
  return key.substr(0, key.find('\0'));
}

}  // namespace kernsmith::memory
