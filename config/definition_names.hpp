// The words of the definition language: functions, reductions, scans, casts, keywords.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/definition.hpp"

namespace kernsmith {

struct function_entry {
  std::string_view name;
  operation op;
  int arguments;
};

/// The function of that name ("exp", "select", "min", ...), or null.
[[nodiscard]] const function_entry* find_function(std::string_view name);
/// "sum", "max", ..., "argmin".
[[nodiscard]] std::optional<reduction> find_reduction(std::string_view name);
/// "cumsum", "cumprod", "cummax", "cummin" as the reduction they run.
[[nodiscard]] std::optional<reduction> find_scan(std::string_view name);
/// Words that can't name an axis, a tensor or an index: keywords, functions and casts. The names of reductions and scans may
/// (an output called "sum" is natural): brackets tell a tensor from a call.
[[nodiscard]] bool is_reserved_word(std::string_view name);
/// Every word that can stand before a parenthesis, for nearest-name messages.
[[nodiscard]] const std::vector<std::string>& callable_names();
/// The names of reductions and scans among them.
[[nodiscard]] const std::vector<std::string>& reduction_names();
/// Letters, digits and '_', not starting with a digit; at most max_identifier_length long.
[[nodiscard]] bool is_identifier(std::string_view name);

inline constexpr std::size_t max_identifier_length = 64;

}  // namespace kernsmith
