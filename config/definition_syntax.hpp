// A definition as written: tokens and syntax trees, before names are looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/definition.hpp"

namespace kernsmith {

/// The text of a definition and where each of its bytes stands in the problem file (one more place than bytes).
struct located_text {
  std::string text;
  std::vector<source_place> places;
};

struct token {
  enum class kind : std::uint8_t { name, number, symbol, line_end, end };
  kind which = kind::end;
  std::string text;
  source_place place;
  std::size_t begin = 0;  ///< byte offsets in located_text::text
  std::size_t end = 0;
};

struct syntax_index {
  std::string name;
  source_place place;
  std::optional<token> limit;  ///< "r < R": an axis name or a literal
};

struct syntax_node {
  enum class kind : std::uint8_t { number, name, operation, call, reduction, load };
  kind which = kind::number;
  std::string text;               ///< literal, or the name used, called or loaded
  operation op = operation::add;  ///< kind::operation
  std::vector<int> arguments;     ///< operands, arguments, index positions, or a reduction's body
  std::vector<syntax_index> bound;
  source_place place;
};

struct syntax_statement {
  std::string target;
  std::vector<syntax_index> indices;
  std::vector<syntax_node> nodes;  ///< children before parents
  int root = -1;
  source_place place;
  std::string text;  ///< as written, trimmed, on one line
};

inline constexpr std::size_t max_definition_bytes = 64 * 1024;
inline constexpr std::size_t max_statements = 256;
inline constexpr std::size_t max_nodes_per_statement = 4096;
inline constexpr int max_expression_depth = 128;

/// Both throw refusal.
[[nodiscard]] std::vector<token> tokenize(const located_text& source);
[[nodiscard]] std::vector<syntax_statement> parse_syntax(const located_text& source);

}  // namespace kernsmith
