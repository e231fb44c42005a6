// Small text services that messages need.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernsmith {

/// The nearest of `known` to `word` by edit distance, or empty when nothing is near (distance > max(2, len/3)).
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string> known);
/// "; did you mean 'x'?" or empty.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> known);
[[nodiscard]] bool is_valid_utf8(std::string_view text);
/// Lower-case letters, digits, '_' and '-' only, starting with a letter or digit.
[[nodiscard]] bool is_valid_name(std::string_view name);

}  // namespace kernsmith
