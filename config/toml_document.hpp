// A TOML document as a plain tree in file order, each key and value with its place. Keeps toml++ inside one source file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/definition.hpp"

namespace kernsmith {

struct toml_value {
  enum class kind : std::uint8_t { text, integer, real, boolean, time, array, table };
  kind which = kind::table;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<toml_value> items;         ///< elements of an array, values of a table
  std::vector<std::string> keys;         ///< tables: parallel to items, in file order
  std::vector<source_place> key_places;  ///< tables: parallel to items
  source_place place;

  /// The value under `key`, or null.
  [[nodiscard]] const toml_value* find(std::string_view key) const;
  /// Place of `key`; the table's own when it isn't there.
  [[nodiscard]] source_place place_of(std::string_view key) const;
};

/// "a string", "an integer", ... for messages.
[[nodiscard]] std::string_view describe(toml_value::kind which);

/// Throws refusal on a syntax error.
[[nodiscard]] toml_value parse_toml(const std::string& text);

/// For each byte of the string value whose literal (quotes included) begins at `begin` in `document`: where it stands in the file.
/// One more place than bytes: the last is where the literal's content ends.
[[nodiscard]] std::vector<source_place> literal_places(std::string_view document, source_place begin);

}  // namespace kernsmith
