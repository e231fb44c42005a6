#include "agents/diagnosis/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace kernsmith::agents {

namespace {

using signal_map = std::map<std::string, memory::signal>;

constexpr double support_bonus = 0.05, contradiction_penalty = 0.2;

/// Nothing when the signal was not read.
std::optional<bool> holds(const condition& c, const signal_map& signals) {
  const auto found = signals.find(std::string(c.signal));
  if (found == signals.end()) return std::nullopt;
  return c.op == comparison::above ? found->second.value > c.threshold : found->second.value < c.threshold;
}

memory::diagnosis_evidence evidence_of(const condition& c, const signal_map& signals, bool against) {
  const memory::signal& s = signals.at(std::string(c.signal));
  return {
      std::string(c.signal), s.value, s.unit, s.tool, fmt::format("{} {:g}", c.op == comparison::above ? "above" : "below", c.threshold),
      std::string(c.says),   against};
}

double share_explained(const severity& s, const signal_map& signals) {
  const auto found = signals.find(std::string(s.signal));
  if (found == signals.end()) return 0;
  return std::clamp((found->second.value - s.from) / (s.to - s.from), 0.0, 1.0);
}

std::optional<finding> try_rule(const rule& r, const signal_map& signals) {
  finding f;
  f.by = &r;
  for (const condition& c : r.needs) {
    if (!holds(c, signals).value_or(false)) return std::nullopt;
    f.evidence.push_back(evidence_of(c, signals, false));
  }
  f.strength = share_explained(r.explains, signals);
  if (f.strength <= 0) return std::nullopt;
  for (const condition& c : r.supports) {
    if (!holds(c, signals).value_or(false)) continue;
    f.strength += support_bonus;
    f.evidence.push_back(evidence_of(c, signals, false));
  }
  for (const condition& c : r.contradicts) {
    if (!holds(c, signals).value_or(false)) continue;
    f.strength -= contradiction_penalty;
    f.contradicted = true;
    f.evidence.push_back(evidence_of(c, signals, true));
  }
  f.strength = std::clamp(f.strength, 0.0, 1.0);
  return f;
}

double rank(const finding& f) {
  return f.strength + f.by->preference;
}

}  // namespace

std::vector<finding> findings_of(const signal_map& signals, std::span<const rule> rules) {
  std::vector<finding> all;
  for (const rule& r : rules) {
    if (auto f = try_rule(r, signals)) all.push_back(std::move(*f));
  }
  std::stable_sort(all.begin(), all.end(), [](const finding& a, const finding& b) { return rank(a) > rank(b); });
  std::set<bottleneck> seen;
  std::erase_if(all, [&](const finding& f) { return !seen.insert(f.by->which).second; });
  return all;
}

memory::diagnosis diagnose(const memory::profile& profile) {
  memory::diagnosis d;
  std::set<std::string> tools;
  for (const auto& [name, s] : profile.signals) {
    d.signals[name] = s.value;
    tools.insert(s.tool);
  }
  d.tools.assign(tools.begin(), tools.end());
  d.missing = profile.missing;
  if (const auto roofline = profile.signals.find("roofline_fraction"); roofline != profile.signals.end())
    d.roofline_fraction = roofline->second.value;

  const std::vector<finding> all = findings_of(profile.signals, rules_for(profile.target));
  std::vector<finding> strong;
  std::copy_if(all.begin(), all.end(), std::back_inserter(strong), [](const finding& f) { return f.strength >= least_strength; });
  if (strong.empty()) {
    d.bottleneck = name_of(bottleneck::unclear);
    d.confidence = "unclear";
    for (const finding& f : all) {
      d.also.emplace_back(name_of(f.by->which));
      d.evidence.insert(d.evidence.end(), f.evidence.begin(), f.evidence.end());
    }
    return d;
  }
  const finding& first = strong.front();
  const double next = strong.size() > 1 ? rank(strong[1]) : 0;
  const bool clear = first.strength >= clear_strength && rank(first) - next >= clear_lead && !first.contradicted;
  d.bottleneck = name_of(first.by->which);
  d.confidence = clear ? "clear" : "likely";
  d.evidence = first.evidence;
  for (std::size_t i = 1; i < strong.size(); ++i) d.also.emplace_back(name_of(strong[i].by->which));
  return d;
}

}  // namespace kernsmith::agents
