#include "config/text.hpp"

#include <algorithm>
#include <cstdint>

namespace kernsmith {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours cost 1 each; letter case costs nothing.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = above;
    above = row;
  }
  return above[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> known) {
  // A far name is worse than none; for one- and two-letter words nearly everything is near, so they must share something.
  const std::size_t limit = std::max<std::size_t>(2, word.size() / 3);
  std::size_t best = limit + 1;
  std::string found;
  for (const std::string& name : known) {
    const std::size_t distance = edit_distance(word, name);
    if (distance < best && distance < std::max(word.size(), name.size())) {
      best = distance;
      found = name;
    }
  }
  return found;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string name = nearest_name(word, known);
  return name.empty() ? std::string() : "; did you mean '" + name + "'?";
}

bool is_valid_utf8(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto first = static_cast<std::uint8_t>(text[i]);
    std::size_t length = 1;
    std::uint32_t smallest = 0;
    std::uint32_t code = first;
    if (first >= 0x80) {
      if (first >= 0xC2 && first <= 0xDF) {
        length = 2, smallest = 0x80, code = first & 0x1Fu;
      } else if (first >= 0xE0 && first <= 0xEF) {
        length = 3, smallest = 0x800, code = first & 0x0Fu;
      } else if (first >= 0xF0 && first <= 0xF4) {
        length = 4, smallest = 0x10000, code = first & 0x07u;
      } else {
        return false;
      }
    }
    if (i + length > text.size()) return false;
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<std::uint8_t>(text[i + k]);
      if ((next & 0xC0u) != 0x80u) return false;
      code = (code << 6) | (next & 0x3Fu);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < smallest || code > 0x10FFFF || surrogate) return false;
    i += length;
  }
  return true;
}

bool is_valid_name(std::string_view name) {
  if (name.empty() || name.front() == '_' || name.front() == '-') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-'; });
}

}  // namespace kernsmith
