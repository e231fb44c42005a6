#include "transport/result_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "transport/terminal_view.hpp"

namespace kernsmith::transport {

namespace {

constexpr std::string_view nothing = "-";

/// A control character from a file name must not steer the terminal.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return text;
}

std::string fraction_text(double fraction) {
  return fraction > 0 ? fmt::format("{:.2f}", fraction) : std::string(nothing);
}

std::string over_text(const std::vector<std::pair<std::string, double>>& over) {
  std::string text;
  for (const auto& [name, speedup] : over) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(name), speedup_text(speedup));
  return text.empty() ? std::string(nothing) : text;
}

/// "no_difference" -> "no difference".
std::string words(std::string verdict) {
  std::replace(verdict.begin(), verdict.end(), '_', ' ');
  return verdict.empty() ? std::string(nothing) : verdict;
}

struct column {
  std::string_view title;
  bool always;  ///< else only in the table of several sessions, and where a row has something for it
  std::string (*cell)(const result_row&);
};

constexpr column columns[] = {
    {"problem", true, [](const result_row& r) { return printable(r.problem); }},
    {"target", true, [](const result_row& r) { return r.target; }},
    {"best", true, [](const result_row& r) { return speedup_text(r.speedup) + (r.unit == "ns" ? "" : " fewer " + r.unit); }},
    {"95 % interval", true,
     [](const result_row& r) { return r.ci95.size() == 2 ? fmt::format("[{:.2f}, {:.2f}]", r.ci95[0], r.ci95[1]) : std::string(nothing); }},
    {"over others", false, [](const result_row& r) { return over_text(r.over_others); }},
    {"of a copy", false, [](const result_row& r) { return fraction_text(r.copy_fraction); }},
    {"of the roofline", false, [](const result_row& r) { return fraction_text(r.roofline_fraction); }},
    {"control", false, [](const result_row& r) { return words(r.control); }},
    {"evaluations", true, [](const result_row& r) { return fmt::format("{}", r.evaluations); }},
    {"stopped by", true, [](const result_row& r) { return r.failure.empty() ? r.stopped_by : std::string("failure"); }},
    {"time", true, [](const result_row& r) { return duration_text(r.wall_s); }},
};

}  // namespace

double speedup_over(const memory::evaluation& best, const memory::baseline_timing& other) {
  double log_sum = 0, weight = 0;
  for (const memory::workload_timing& o : other.workloads) {
    for (const memory::workload_timing& w : best.workloads) {
      if (w.axes != o.axes || w.median_ns <= 0 || o.median_ns <= 0) continue;
      log_sum += w.weight * std::log(o.median_ns / w.median_ns);
      weight += w.weight;
    }
  }
  return weight > 0 ? std::exp(log_sum / weight) : 0;
}

std::vector<std::string> result_table(std::span<const result_row> rows) {
  std::vector<std::string> lines(rows.size() + 1);
  std::string gap;
  for (const column& c : columns) {
    std::vector<std::string> cells{std::string(c.title)};
    for (const result_row& row : rows) cells.push_back(c.cell(row));
    if (!c.always &&
        (rows.size() == 1 || std::all_of(cells.begin() + 1, cells.end(), [](const std::string& cell) { return cell == nothing; })))
      continue;
    std::size_t width = 0;
    for (const std::string& cell : cells) width = std::max(width, cell.size());
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += gap + fmt::format("{:<{}}", cells[i], width);
    gap = "  ";
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  for (const result_row& row : rows) {
    if (!row.failure.empty())
      lines.push_back(fmt::format("{} failed: {}", printable(row.problem), printable(row.failure.substr(0, row.failure.find('\n')))));
  }
  return lines;
}

}  // namespace kernsmith::transport
