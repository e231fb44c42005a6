#include "config/toml_document.hpp"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <algorithm>
#include <numeric>

#include "config/refusal.hpp"

namespace kernsmith {

namespace {

source_place place_from(const toml::source_position& position) {
  return {static_cast<std::uint32_t>(position.line), static_cast<std::uint32_t>(position.column)};
}

toml_value convert(const toml::node& node);

void convert_table(const toml::table& table, toml_value& value) {
  struct entry {
    const toml::key* key;
    const toml::node* node;
  };
  std::vector<entry> entries;
  for (auto&& [key, node] : table) entries.push_back({&key, &node});
  // toml++ sorts by name; users think in file order (the first baseline is the one that counts).
  std::sort(entries.begin(), entries.end(), [](const entry& a, const entry& b) {
    const auto& left = a.key->source().begin;
    const auto& right = b.key->source().begin;
    return left.line != right.line ? left.line < right.line : left.column < right.column;
  });
  for (const entry& e : entries) {
    value.keys.emplace_back(e.key->str());
    value.key_places.push_back(place_from(e.key->source().begin));
    value.items.push_back(convert(*e.node));
  }
}

toml_value convert(const toml::node& node) {
  toml_value value;
  value.place = place_from(node.source().begin);
  if (const auto* table = node.as_table()) {
    value.which = toml_value::kind::table;
    convert_table(*table, value);
  } else if (const auto* array = node.as_array()) {
    value.which = toml_value::kind::array;
    for (const toml::node& item : *array) value.items.push_back(convert(item));
  } else if (const auto* text = node.as_string()) {
    value.which = toml_value::kind::text;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.which = toml_value::kind::integer;
    value.integer = integer->get();
    value.real = static_cast<double>(value.integer);
  } else if (const auto* real = node.as_floating_point()) {
    value.which = toml_value::kind::real;
    value.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    value.which = toml_value::kind::boolean;
    value.boolean = boolean->get();
  } else {
    value.which = toml_value::kind::time;
  }
  return value;
}

/// Walks over a document, counting lines and columns (in code points, as toml++ does).
class cursor {
 public:
  explicit cursor(std::string_view text) : text_(text) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
  }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  [[nodiscard]] source_place place() const { return place_; }
  void step() {
    const char c = peek();
    ++at_;
    if (c == '\n') {
      ++place_.line;
      place_.column = 1;
    } else if ((static_cast<unsigned char>(peek()) & 0xC0u) != 0x80u) {
      ++place_.column;  // continuation bytes share the column of their first byte
    }
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  source_place place_{1, 1};
};

/// How many content bytes the escape at the cursor stands for; the cursor ends after it.
std::size_t skip_escape(cursor& c) {
  c.step();  // the backslash
  const char letter = c.peek();
  if (letter == 'u' || letter == 'U') {
    const int digits = letter == 'u' ? 4 : 8;
    c.step();
    std::uint32_t code = 0;
    for (int i = 0; i < digits && !c.done(); ++i, c.step()) {
      const char d = c.peek();
      const int nibble = d >= 'a' ? d - 'a' + 10 : d >= 'A' ? d - 'A' + 10 : d - '0';
      code = code * 16 + static_cast<std::uint32_t>(nibble);
    }
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  const bool line_end = letter == '\n' || letter == '\r' || letter == ' ' || letter == '\t';
  if (!line_end) {
    c.step();
    return 1;
  }
  while (!c.done() && (c.peek() == '\n' || c.peek() == '\r' || c.peek() == ' ' || c.peek() == '\t')) c.step();
  return 0;
}

}  // namespace

const toml_value* toml_value::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return &items[i];
  return nullptr;
}

source_place toml_value::place_of(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return key_places[i];
  return place;
}

std::string_view describe(toml_value::kind which) {
  switch (which) {
    case toml_value::kind::text:
      return "a string";
    case toml_value::kind::integer:
      return "an integer";
    case toml_value::kind::real:
      return "a number with a fraction";
    case toml_value::kind::boolean:
      return "true or false";
    case toml_value::kind::time:
      return "a date or time";
    case toml_value::kind::array:
      return "an array";
    case toml_value::kind::table:
      return "a table";
  }
  return "";
}

toml_value parse_toml(const std::string& text) {
  const toml::parse_result parsed = toml::parse(std::string_view(text));
  if (!parsed) {
    const toml::parse_error& problem = parsed.error();
    refuse(place_from(problem.source().begin), "TOML syntax: " + std::string(problem.description()));
  }
  return convert(parsed.table());
}

std::vector<source_place> literal_places(std::string_view document, source_place begin) {
  cursor c(document);
  while (!c.done() && (c.place().line < begin.line || (c.place().line == begin.line && c.place().column < begin.column))) c.step();
  const char quote = c.peek();
  const bool long_form = c.peek(1) == quote && c.peek(2) == quote;
  for (int i = 0; i < (long_form ? 3 : 1); ++i) c.step();
  if (long_form && c.peek() == '\r') c.step();
  if (long_form && c.peek() == '\n') c.step();
  std::vector<source_place> places;
  while (!c.done()) {
    const bool triple = c.peek() == quote && c.peek(1) == quote && c.peek(2) == quote;
    // Up to two quotes may stand right before the closing three and belong to the content.
    const bool closing = long_form ? triple && c.peek(3) != quote : c.peek() == quote;
    if (closing) break;
    const source_place here = c.place();
    if (c.peek() == '\\' && quote == '"') {
      places.insert(places.end(), skip_escape(c), here);
    } else {
      places.push_back(here);
      c.step();
    }
  }
  places.push_back(c.place());
  return places;
}

}  // namespace kernsmith
