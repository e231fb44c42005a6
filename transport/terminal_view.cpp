#include "transport/terminal_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kernsmith::transport {
namespace {

constexpr int min_width = 20;
constexpr int bar_columns = 24;
constexpr int max_spark_columns = 40;

enum class ink : std::uint8_t { plain, bold, dim, good, bad };

std::string_view code_of(ink i) {
  switch (i) {
    case ink::plain:
      return "";
    case ink::bold:
      return "\x1b[1m";
    case ink::dim:
      return "\x1b[2m";
    case ink::good:
      return "\x1b[32m";
    case ink::bad:
      return "\x1b[31m";
  }
  return "";
}

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

/// A control character from a compiler or a file name must not steer the terminal.
std::string printable(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return out;
}

/// Builds one line of at most `width` columns; colour codes take none. One code point counts as one column.
class line_builder {
 public:
  explicit line_builder(const view_style& style) : style_(style), left_(std::max(style.width, min_width)) {}

  line_builder& add(std::string_view text, ink i = ink::plain) {
    const auto clean = printable(text);
    std::string shown;
    for (std::size_t at = 0; at < clean.size();) {
      std::size_t next = at + 1;
      while (next < clean.size() && !starts_character(clean[next])) ++next;
      if (left_ == 0) break;
      --left_;
      shown += clean.substr(at, next - at);
      at = next;
    }
    if (shown.empty()) return *this;
    const bool inked = style_.colour && i != ink::plain;
    line_ += inked ? fmt::format("{}{}\x1b[0m", code_of(i), shown) : shown;
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(line_); }

 private:
  const view_style& style_;
  int left_;
  std::string line_;
};

std::string progress_bar(std::int64_t done, std::int64_t whole, bool unicode) {
  const double share = whole > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(whole), 0.0, 1.0) : 0;
  const int full = static_cast<int>(std::floor(share * bar_columns));
  std::string out;
  for (int i = 0; i < bar_columns; ++i) out += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
  return out;
}

std::string interval_text(const std::vector<double>& ci95) {
  return ci95.size() == 2 ? fmt::format(" [{:.2f}, {:.2f}]", ci95[0], ci95[1]) : "";
}

std::string outcomes_text(const std::map<std::string, std::int64_t>& outcomes) {
  std::vector<std::pair<std::string, std::int64_t>> sorted(outcomes.begin(), outcomes.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [word, count] : sorted) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, word);
  return out;
}

std::string time_text(const view_state& s) {
  auto out = duration_text(s.elapsed_s);
  if (s.time_left_s) out += fmt::format(", {}{} left", s.time_left_estimated ? "about " : "", duration_text(std::max(*s.time_left_s, 0.0)));
  return out;
}

std::string heading(const view_state& s) {
  return s.phase.empty() ? s.target : fmt::format("{}  {}", s.target, s.phase);
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(seconds, 0.0));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
}

std::string quantity_text(double value, const std::string& unit) {
  if (value <= 0) return "-";
  if (unit != "ns") {
    std::string digits = fmt::format("{:.0f}", value);
    for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
      digits.insert(static_cast<std::size_t>(at), ",");
    return digits + " " + unit;
  }
  if (value < 1e3) return fmt::format("{:.3g} ns", value);
  if (value < 1e6) return fmt::format("{:.3g} us", value / 1e3);
  if (value < 1e9) return fmt::format("{:.3g} ms", value / 1e6);
  return fmt::format("{:.3g} s", value / 1e9);
}

std::string speedup_text(double speedup) {
  return speedup > 0 ? fmt::format("{:.2f}x", speedup) : "-";
}

std::string sparkline(std::span<const double> values, int width, bool unicode) {
  static constexpr std::array<std::string_view, 8> blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr std::array<std::string_view, 8> ascii{"_", ".", ":", "-", "=", "+", "*", "#"};
  if (values.empty() || width <= 0) return "";
  const auto columns = std::min(values.size(), static_cast<std::size_t>(width));
  std::vector<double> shown;
  for (std::size_t i = 0; i < columns; ++i) shown.push_back(values[(i + 1) * values.size() / columns - 1]);
  const double highest = *std::max_element(shown.begin(), shown.end());
  double lowest = highest;
  for (const double v : shown) {
    if (v > 0) lowest = std::min(lowest, v);
  }
  std::string out;
  for (const double v : shown) {
    if (v <= 0) {
      out += ' ';
      continue;
    }
    const double share = highest > lowest ? (v - lowest) / (highest - lowest) : 1;
    const auto level = static_cast<std::size_t>(std::lround(share * 7));
    out += (unicode ? blocks : ascii)[level];
  }
  return out;
}

std::vector<std::string> render(const view_state& s, const view_style& style) {
  std::vector<std::string> lines;
  const auto line = [&] { return line_builder(style); };
  const auto label = [&](std::string_view name) {
    auto l = line();
    l.add(fmt::format("  {:<11}", name), ink::dim);
    return l;
  };
  lines.push_back(line().add(s.problem, ink::bold).add("  ").add(heading(s)).take());
  lines.push_back(label("progress")
                      .add(progress_bar(s.evaluations, s.budget, style.unicode))
                      .add(fmt::format(" {}/{}  {}", s.evaluations, s.budget, time_text(s)))
                      .take());
  auto best = label("best");
  if (s.best_speedup > 0) {
    best.add(speedup_text(s.best_speedup), s.best_speedup > 1 ? ink::good : ink::plain)
        .add(interval_text(s.best_ci95))
        .add("  ")
        .add(s.best_decisions);
  } else {
    best.add("none verified yet");
  }
  lines.push_back(best.take());
  if (s.best_speedup > 0) {
    const int columns = std::min(max_spark_columns, style.width - 14);
    lines.push_back(label("so far").add(sparkline(s.best_so_far, columns, style.unicode)).take());
  }
  if (!s.bottleneck.empty()) {
    const auto position = s.roofline_fraction > 0 ? fmt::format(", {:.0f} % of the roofline", 100 * s.roofline_fraction) : "";
    lines.push_back(label("limited by").add(s.bottleneck + position).take());
  }
  if (!s.last_outcome.empty()) {
    const bool passed = s.last_outcome.starts_with("passed");
    lines.push_back(label("last").add(s.last_outcome, passed ? ink::good : ink::bad).add("  of ").add(outcomes_text(s.outcomes)).take());
  }
  for (std::size_t i = 0; i < s.slots.size(); ++i) lines.push_back(label(fmt::format("slot {}", i)).add(s.slots[i]).take());
  return lines;
}

std::string plain_line(const evaluation_line& l) {
  auto out = fmt::format("[{}/{}] {}", l.number, l.budget, l.outcome);
  if (l.speedup > 0) out += " " + speedup_text(l.speedup);
  if (l.best_speedup > 0) out += fmt::format(", best {}{}", speedup_text(l.best_speedup), l.new_best ? " (new)" : "");
  out += "  " + l.candidate;
  if (!l.detail.empty()) out += "  " + l.detail;
  return printable(out);
}

}  // namespace kernsmith::transport
