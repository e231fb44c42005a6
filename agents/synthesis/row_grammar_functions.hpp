// The texts of the support functions; row_grammar_support.hpp chooses among them.
#pragma once

#include <span>
#include <string_view>

namespace kernsmith::agents::row {

struct support_function {
  std::string_view names;  ///< space separated: mentioning any of them asks for the text
  std::string_view text;
};

/// In dependency order. {L} and {S} stand for the prelude's loads and stores of reals, {WL} and {WS} of whole numbers, {R} for its
/// conversion to reals.
[[nodiscard]] std::span<const support_function> support_functions();

}  // namespace kernsmith::agents::row
