#include "actors/commands/profile_text.hpp"

#include <fmt/format.h>

#include <cmath>

#include "agents/diagnosis/bottleneck.hpp"
#include "agents/knowledge/library.hpp"

namespace kernsmith::actors {

namespace {

std::string axes_line(const memory::axis_values& axes) {
  std::string text;
  for (const auto& [name, extent] : axes) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, extent);
  return text.empty() ? "(no axes)" : text;
}

std::string number(double value) {
  if (value != 0 && std::abs(value) < 0.01) return fmt::format("{:.2e}", value);
  if (std::abs(value) >= 1e6) return fmt::format("{:.3e}", value);
  return fmt::format("{:.4g}", value);
}

double signal_or(const memory::profile& p, const char* name, double otherwise) {
  const auto found = p.signals.find(name);
  return found == p.signals.end() ? otherwise : found->second.value;
}

std::string bottleneck_lines(const memory::diagnosis& d) {
  const auto known = agents::bottleneck_named(d.bottleneck);
  std::string text = fmt::format("bottleneck    {}{}{}\n", d.bottleneck, d.confidence == "unclear" ? "" : " (" + d.confidence + ")",
                                 known ? ": " + std::string(agents::meaning_of(*known)) : "");
  const char* label = "evidence";
  for (const memory::diagnosis_evidence& e : d.evidence) {
    text += fmt::format("{:<14}{} {:<28} {:>10} {}, {} ({})\n{:16}{}\n", label, e.against ? "-" : "+", e.signal, number(e.value), e.unit,
                        e.threshold, e.tool, "", e.says);
    label = "";
  }
  if (!d.also.empty()) text += fmt::format("{:<14}{}\n", d.confidence == "unclear" ? "hints at" : "also", fmt::join(d.also, ", "));
  return text;
}

std::string roofline_lines(const memory::profile& p) {
  const double intensity = signal_or(p, "arithmetic_intensity", 0), copy = signal_or(p, "peak_copy_gb_per_s", 0),
               flops = signal_or(p, "peak_gflop_per_s", 0);
  if (copy <= 0 || flops <= 0) return "";
  return fmt::format(
      "roofline      {:.0f} % of what this machine allows: {} of {} GB/s, {} of {} GFLOP/s (peaks as measured)\n"
      "              {} operations per byte; memory is the limit below {}{}\n",
      100 * p.diagnosis.roofline_fraction, number(signal_or(p, "gb_per_s", 0)), number(copy), number(signal_or(p, "gflop_per_s", 0)),
      number(flops), number(intensity), number(flops / copy),
      signal_or(p, "cache_resident", 0) > 0.5 ? "; the data stays in the caches" : "");
}

std::string advice_lines(const memory::diagnosis& d) {
  std::string text;
  const char* label = "what to try";
  for (const std::string& id : d.knowledge) {
    const agents::knowledge_entry* entry = agents::find_knowledge(id);
    if (entry == nullptr) continue;
    text += fmt::format("{:<14}{} ({})\n", label, entry->title, id);
    for (const std::string& line : entry->first_points(3)) text += fmt::format("{:14}  - {}\n", "", line);
    label = "";
  }
  return text;
}

std::string indented(const std::string& block, std::size_t most_lines) {
  std::string text;
  std::size_t begin = 0, lines = 0;
  while (begin < block.size() && lines < most_lines) {
    const std::size_t end = std::min(block.find('\n', begin), block.size());
    text += "              " + block.substr(begin, end - begin) + "\n";
    begin = end + 1;
    ++lines;
  }
  if (begin < block.size()) text += "              ...\n";
  return text;
}

}  // namespace

std::string diagnosis_text(const memory::diagnosis& d) {
  return d.confidence.empty() ? "" : bottleneck_lines(d) + advice_lines(d);
}

std::string profile_text(const memory::profile& p, bool all_signals) {
  constexpr std::size_t hot_code_lines = 16;
  std::string text = bottleneck_lines(p.diagnosis) + roofline_lines(p);
  text += fmt::format("time          {:.1f} us at {}\n", p.time_ns / 1e3, axes_line(p.axes));
  text += advice_lines(p.diagnosis);
  if (!p.hot_code.empty()) text += "hottest code\n" + indented(p.hot_code, all_signals ? p.hot_code.size() : hot_code_lines);
  if (all_signals) {
    text += "signals\n";
    for (const auto& [name, s] : p.signals) text += fmt::format("  {:<30} {:>12} {} ({})\n", name, number(s.value), s.unit, s.tool);
  }
  const char* label = "notes";
  for (const std::string& note : p.notes) {
    text += fmt::format("{:<14}{}\n", label, note);
    label = "";
  }
  label = "not read";
  for (const memory::missing_tool& m : p.missing) {
    text += fmt::format("{:<14}{}: {}{}\n", label, m.tool, m.reason, m.remedy.empty() ? "" : " -> " + m.remedy);
    label = "";
  }
  return text;
}

}  // namespace kernsmith::actors
