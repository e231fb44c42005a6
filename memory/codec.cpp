#include "memory/codec.hpp"

#include <fmt/format.h>

#include "config/text.hpp"

namespace kernsmith::memory {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// Length of the valid UTF-8 sequence at the start of `text`, 0 when there is none (overlong forms, surrogates and values past U+10FFFF are
/// none).
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
  return length;
}

void repair_strings(nlohmann::json& value) {
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    auto repaired = repaired_utf8(text);
    if (repaired.size() != text.size()) text = std::move(repaired);
  } else if (value.is_structured()) {
    for (auto& item : value) repair_strings(item);
  }
}

}  // namespace

std::string repaired_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    out += length == 0 ? replacement : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string encode(nlohmann::json value) {
  repair_strings(value);
  std::string out(1, static_cast<char>(codec_version));
  nlohmann::json::to_cbor(value, out);
  return out;
}

result<nlohmann::json> decode(std::string_view bytes) {
  if (bytes.empty()) return fail(fault::corrupt, "a stored record is empty");
  if (bytes.size() > max_record_bytes) {
    return fail(fault::corrupt, fmt::format("a stored record has {} bytes, more than the limit of {}", bytes.size(), max_record_bytes));
  }
  const auto version = static_cast<std::uint8_t>(bytes.front());
  if (version != codec_version) {
    return fail(fault::corrupt, fmt::format("a stored record has form {}, this program reads form {}; use the kernsmith that wrote it",
                                            version, codec_version));
  }
  bytes.remove_prefix(1);
  auto value = nlohmann::json::from_cbor(bytes.begin(), bytes.end(), true, false);
  if (value.is_discarded()) return fail(fault::corrupt, "a stored record is damaged: its bytes are not CBOR");
  return value;
}

std::string to_json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace kernsmith::memory
