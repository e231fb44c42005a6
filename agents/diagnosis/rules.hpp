// What speaks for which bottleneck, as tables: one line says which signal is held against which threshold, and in which words.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "agents/diagnosis/bottleneck.hpp"

namespace kernsmith::agents {

enum class comparison : std::uint8_t { above, below };

/// A signal held against a threshold. `says` completes "... because": for people, without numbers (those come with the evidence).
struct condition {
  std::string_view signal;
  comparison op = comparison::above;
  double threshold = 0;
  std::string_view says;
};

/// How much of the time a bottleneck explains: 0 at `from`, 1 at `to`, linear between; `to` may be the smaller one.
struct severity {
  std::string_view signal;
  double from = 0, to = 1;
};

/// Fires when all of `needs` hold. Signals that were not read make a rule silent, never true.
struct rule {
  bottleneck which = bottleneck::unclear;
  severity explains;
  std::span<const condition> needs;
  std::span<const condition> supports{};     ///< each that holds makes the rule stronger
  std::span<const condition> contradicts{};  ///< each that holds makes it weaker, and is shown
  /// Added to the strength of rules that name a cause (strided access) over those that name what it exhausts (bandwidth).
  double preference = 0;
};

/// For CPUs: signals of backends/cpp/profiler.hpp.
[[nodiscard]] std::span<const rule> cpu_rules();
/// For NVIDIA GPUs: signals of backends/cuda/profile_ncu.hpp.
[[nodiscard]] std::span<const rule> nvidia_rules();
/// By a resolved target's language; empty for languages without rules.
[[nodiscard]] std::span<const rule> rules_for(std::string_view target);

}  // namespace kernsmith::agents
