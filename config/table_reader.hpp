// Reading one TOML table: known keys only, each of its type. Internal to config/; everything throws refusal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/toml_document.hpp"

namespace kernsmith {

class table_reader {
 public:
  /// `what` names the table in messages: "[inputs.x]". Refuses a value that is no table, and keys outside `keys`.
  table_reader(const toml_value& value, std::string what, const std::vector<std::string>& keys);

  [[nodiscard]] const toml_value* find(std::string_view key) const { return value_.find(key); }
  /// The value under a key that must be there.
  [[nodiscard]] const toml_value& need(std::string_view key, std::string_view example) const;
  [[nodiscard]] const std::string& what() const { return what_; }
  [[nodiscard]] source_place place() const { return value_.place; }
  [[nodiscard]] source_place place_of(std::string_view key) const { return value_.place_of(key); }

  [[nodiscard]] std::string text(std::string_view key, const std::string& otherwise) const;
  [[nodiscard]] double number(std::string_view key, double otherwise) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t otherwise) const;

 private:
  const toml_value& value_;
  std::string what_;
};

/// Refuses values of another type; `what` names the value: "weight of [[workloads]]".
[[nodiscard]] const std::string& as_text(const toml_value& value, std::string_view what);
[[nodiscard]] std::int64_t as_integer(const toml_value& value, std::string_view what);
/// Integers and reals; not NaN or infinite.
[[nodiscard]] double as_number(const toml_value& value, std::string_view what);
void require_table(const toml_value& value, std::string_view what);
void require_array(const toml_value& value, std::string_view what);

}  // namespace kernsmith
