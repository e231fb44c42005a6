#include "config/table_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

[[noreturn]] void wrong_kind(const toml_value& value, std::string_view what, std::string_view expected) {
  refuse(value.place, fmt::format("{} must be {}, not {}", what, expected, describe(value.which)));
}

}  // namespace

table_reader::table_reader(const toml_value& value, std::string what, const std::vector<std::string>& keys)
    : value_(value), what_(std::move(what)) {
  require_table(value, what_);
  for (std::size_t i = 0; i < value.keys.size(); ++i) {
    const std::string& key = value.keys[i];
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string hint = did_you_mean(key, keys);
    if (hint.empty()) {
      for (const std::string& known : keys) hint += (hint.empty() ? "; known here: " : ", ") + known;
    }
    refuse(value.key_places[i], fmt::format("unknown key '{}' in {}{}", key, what_, hint));
  }
}

const toml_value& table_reader::need(std::string_view key, std::string_view example) const {
  const toml_value* found = value_.find(key);
  if (found == nullptr) refuse(value_.place, fmt::format("{} lacks '{}'; add it, as in {}", what_, key, example));
  return *found;
}

std::string table_reader::text(std::string_view key, const std::string& otherwise) const {
  const toml_value* found = value_.find(key);
  return found == nullptr ? otherwise : as_text(*found, fmt::format("'{}' in {}", key, what_));
}

double table_reader::number(std::string_view key, double otherwise) const {
  const toml_value* found = value_.find(key);
  return found == nullptr ? otherwise : as_number(*found, fmt::format("'{}' in {}", key, what_));
}

std::int64_t table_reader::integer(std::string_view key, std::int64_t otherwise) const {
  const toml_value* found = value_.find(key);
  return found == nullptr ? otherwise : as_integer(*found, fmt::format("'{}' in {}", key, what_));
}

const std::string& as_text(const toml_value& value, std::string_view what) {
  if (value.which != toml_value::kind::text) wrong_kind(value, what, "a string");
  return value.text;
}

std::int64_t as_integer(const toml_value& value, std::string_view what) {
  if (value.which != toml_value::kind::integer) wrong_kind(value, what, "an integer");
  return value.integer;
}

double as_number(const toml_value& value, std::string_view what) {
  if (value.which != toml_value::kind::integer && value.which != toml_value::kind::real) wrong_kind(value, what, "a number");
  if (!std::isfinite(value.real)) refuse(value.place, fmt::format("{} must be finite", what));
  return value.real;
}

void require_table(const toml_value& value, std::string_view what) {
  if (value.which != toml_value::kind::table) wrong_kind(value, what, "a table");
}

void require_array(const toml_value& value, std::string_view what) {
  if (value.which != toml_value::kind::array) wrong_kind(value, what, "an array");
}

}  // namespace kernsmith
