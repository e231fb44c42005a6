#include "actors/commands/line_diff.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <vector>

#include <fmt/format.h>

namespace kernsmith::actors {
namespace {

constexpr std::size_t context_lines = 3;

struct edit {
  char mark;  ///< ' ', '-' or '+'
  std::string text;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Longest common subsequence by dynamic programming over what lies between the common head and tail.
std::vector<edit> edits(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const std::size_t n = a.size() - head - tail, m = b.size() - head - tail;
  std::vector<edit> script;
  for (std::size_t i = 0; i < head; ++i) script.push_back({' ', a[i]});
  if (n > max_diff_lines || m > max_diff_lines) {
    for (std::size_t i = 0; i < n; ++i) script.push_back({'-', a[head + i]});
    for (std::size_t j = 0; j < m; ++j) script.push_back({'+', b[head + j]});
  } else {
    std::vector<std::uint16_t> length((n + 1) * (m + 1), 0);
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t j = m; j-- > 0;)
        length[i * (m + 1) + j] = a[head + i] == b[head + j] ? static_cast<std::uint16_t>(length[(i + 1) * (m + 1) + j + 1] + 1)
                                                             : std::max(length[(i + 1) * (m + 1) + j], length[i * (m + 1) + j + 1]);
    for (std::size_t i = 0, j = 0; i < n || j < m;) {
      if (i < n && j < m && a[head + i] == b[head + j]) {
        script.push_back({' ', a[head + i]});
        ++i, ++j;
      } else if (i < n && (j == m || length[(i + 1) * (m + 1) + j] >= length[i * (m + 1) + j + 1])) {
        script.push_back({'-', a[head + i++]});
      } else {
        script.push_back({'+', b[head + j++]});
      }
    }
  }
  for (std::size_t i = 0; i < tail; ++i) script.push_back({' ', a[a.size() - tail + i]});
  return script;
}

}  // namespace

std::string line_diff(const std::string& left, const std::string& right, const std::string& left_name, const std::string& right_name) {
  if (left == right) return {};
  const std::vector<edit> script = edits(split(left), split(right));
  std::string text = fmt::format("--- {}\n+++ {}\n", left_name, right_name);
  std::size_t line_a = 1, line_b = 1;
  for (std::size_t at = 0; at < script.size();) {
    // Skip to the next change, then take everything up to the point where more than twice the context is unchanged.
    std::size_t change = at;
    while (change < script.size() && script[change].mark == ' ') ++change;
    if (change == script.size()) break;
    const std::size_t first = std::max(at, change > context_lines ? change - context_lines : 0);
    line_a += first - at;
    line_b += first - at;
    std::size_t last = change, quiet = 0;
    for (std::size_t k = change; k < script.size() && quiet <= 2 * context_lines; ++k) {
      quiet = script[k].mark == ' ' ? quiet + 1 : 0;
      if (quiet == 0) last = k;
    }
    const std::size_t end = std::min(script.size(), last + 1 + context_lines);
    std::string body;
    std::size_t count_a = 0, count_b = 0;
    for (std::size_t k = first; k < end; ++k) {
      body += script[k].mark + script[k].text + "\n";
      if (script[k].mark != '+') ++count_a;
      if (script[k].mark != '-') ++count_b;
    }
    text += fmt::format("@@ -{},{} +{},{} @@\n{}", line_a, count_a, line_b, count_b, body);
    line_a += count_a;
    line_b += count_b;
    at = end;
  }
  return text;
}

}  // namespace kernsmith::actors
