// Signals in, one diagnosis out. Pure: the same profile gives the same diagnosis.
#pragma once

#include <span>
#include <vector>

#include "agents/diagnosis/rules.hpp"
#include "memory/records.hpp"

namespace kernsmith::agents {

/// Below this strength nothing is called a bottleneck.
inline constexpr double least_strength = 0.3;
/// From here on, and this far ahead of the next, without contradiction: "clear".
inline constexpr double clear_strength = 0.5, clear_lead = 0.1;

/// A rule that fired.
struct finding {
  const rule* by = nullptr;
  double strength = 0;  ///< 0 to 1
  std::vector<memory::diagnosis_evidence> evidence;
  bool contradicted = false;
};

/// All rules that fire on these signals, strongest first; of several for one bottleneck the strongest.
[[nodiscard]] std::vector<finding> findings_of(const std::map<std::string, memory::signal>& signals, std::span<const rule> rules);

/// The dominant bottleneck with its evidence. "unclear" when nothing explains a good part of the time; the strongest findings then stand in
/// `also` and `evidence`. Knowledge is filled by the caller (agents/knowledge).
[[nodiscard]] memory::diagnosis diagnose(const memory::profile& profile);

}  // namespace kernsmith::agents
