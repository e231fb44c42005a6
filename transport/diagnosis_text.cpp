#include "transport/diagnosis_text.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace kernsmith::transport {
namespace {

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// A fraction is told in per cent, everything else with its unit.
std::string quantity(double value, const std::string& unit) {
  static constexpr std::string_view fraction = "fraction";
  if (unit.starts_with(fraction)) return fmt::format("{:.0f} %{}", 100 * value, unit.substr(fraction.size()));
  return fmt::format("{:.3g}{}{}", value, unit.empty() ? "" : " ", unit);
}

std::string measured(const memory::diagnosis_evidence& e) {
  return fmt::format("{} {}, by {}", e.signal, quantity(e.value, e.unit), e.tool);
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return out;
}

}  // namespace

std::string limit_text(const memory::diagnosis& d) {
  if (d.bottleneck.empty()) return "";
  if (d.confidence.empty()) {
    const auto position = d.roofline_fraction > 0 ? fmt::format(": {:.0f} % of the roofline", 100 * d.roofline_fraction) : std::string();
    return words(d.bottleneck) + position;
  }
  if (d.bottleneck == "unclear") return d.also.empty() ? "nothing in particular" : "nothing clearly; hints at " + words(joined(d.also));
  const auto first = std::find_if(d.evidence.begin(), d.evidence.end(), [](const auto& e) { return !e.against; });
  return fmt::format("{} ({}){}", words(d.bottleneck), d.confidence, first == d.evidence.end() ? "" : ": " + measured(*first));
}

std::string evidence_text(const memory::diagnosis_evidence& e) {
  return fmt::format("{}{}: {}", e.against ? "against it: " : "", e.says, measured(e));
}

std::string profiler_failure(const memory::diagnosis& d) {
  for (const auto& m : d.missing) {
    if (m.tool == memory::profiler_itself) return m.reason;
  }
  return "";
}

std::string means_text(const memory::diagnosis& d) {
  std::vector<std::string> without;
  for (const auto& m : d.missing) without.push_back(m.tool);
  return (d.tools.empty() ? "by the roofline alone" : "by " + joined(d.tools)) + (without.empty() ? "" : "; without " + joined(without));
}

}  // namespace kernsmith::transport
