// JSON and CBOR of records. A record lists its fields once (KS_RECORD) and gets both from that list.
#pragma once

#include <optional>

#include <nlohmann/json.hpp>

#include "config/error.hpp"

namespace nlohmann {
/// std::optional as null or value.
template <class T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& j, const std::optional<T>& value) { value ? j = *value : j = nullptr; }
  static void from_json(const json& j, std::optional<T>& value) {
    if (j.is_null())
      value.reset();
    else
      value = j.get<T>();
  }
};
}  // namespace nlohmann

/// Declares the fields of a record once. A field that an older form lacks keeps its default.
#define KS_RECORD(...) NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(__VA_ARGS__)
