// Bytes of records: one version byte, then CBOR. The same bytes are stored and sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "config/error.hpp"

namespace kernsmith::memory {

/// First byte of every encoded value. A reader refuses any other: the bytes after it mean something it does not know.
inline constexpr std::uint8_t codec_version = 1;
/// Longest encoded record. Anything bulky belongs in a blob.
inline constexpr std::size_t max_record_bytes = std::size_t{16} << 20;

/// Never fails. Bytes that are not UTF-8 become U+FFFD, so that whoever reads the value can print it.
[[nodiscard]] std::string encode(nlohmann::json value);
/// Errors (corrupt): unknown version, not CBOR, bytes left over, longer than max_record_bytes.
[[nodiscard]] result<nlohmann::json> decode(std::string_view bytes);

/// `text` with every byte that is not part of valid UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string repaired_utf8(std::string_view text);
/// JSON text for documents: valid whatever the strings hold; numbers that JSON can't say (NaN, infinities) become null.
/// `indent` < 0: one line.
[[nodiscard]] std::string to_json_text(const nlohmann::json& value, int indent = 2);

template <class Record>
[[nodiscard]] std::string encode_record(const Record& record) {
  return encode(nlohmann::json(record));
}

/// Errors (corrupt): as decode(), or a field of another type than the record's.
template <class Record>
[[nodiscard]] result<Record> decode_record(std::string_view bytes) {
  auto value = decode(bytes);
  if (!value) return tl::unexpected<error>(value.error());
  try {
    return value->template get<Record>();
  } catch (const nlohmann::json::exception& e) {
    return fail(fault::corrupt, std::string("a stored record does not have the fields it should: ") + e.what());
  }
}

}  // namespace kernsmith::memory
