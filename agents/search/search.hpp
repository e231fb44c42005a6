// One search over decision spaces, as a deterministic state machine: ask it for a move, tell it what came of it. It holds no clock, no
// thread and no randomness but its seed, so replaying the stored outcomes of a killed session rebuilds it exactly.
//
// Pipelining: `lookahead` moves may be outstanding. next() decides on what was observed up to a fixed lag: outcomes are applied in the
// order of the moves, and next() returns nullopt while more than `lookahead` moves are unresolved. So timing never changes a decision.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agents/synthesis/decision_space.hpp"
#include "agents/synthesis/rules_grammar.hpp"

namespace kernsmith::agents {

/// What an expansion may look at (DESIGN: memory modes).
enum class memory_mode : std::uint8_t { clean_slate, parent, siblings, both };
/// What was done to make the candidate.
enum class move_kind : std::uint8_t { draft, warm_start, mutate, crossover, tune };

[[nodiscard]] std::string_view name_of(memory_mode mode);
[[nodiscard]] std::string_view name_of(move_kind kind);

/// Limits that make_search() enforces.
inline constexpr std::int64_t max_lookahead = 256;
inline constexpr std::int64_t max_budget = 100'000;

struct search_settings {
  std::string policy = "mcts";  ///< mcts | evolution | random
  std::uint64_t seed = 1;
  std::int64_t budget = 32;  ///< evaluations
  double stop_at = 0;        ///< speed-up; 0: never
  std::int64_t stall = 0;    ///< evaluations without a new best; 0: never
  std::int64_t lookahead = 1;
  /// Near the end moves are given out that the budget may not cover, so that nobody waits for their builds. The caller measures them in
  /// their order as far as the budget goes and observes the rest as not measured. Without it the search waits for what is outstanding.
  bool speculates = false;
};

/// A starting point that the memory suggests: a champion of a similar problem.
struct warm_start {
  std::size_t generator = 0;
  assignment decisions;
  std::string from;  ///< candidate id, for the lineage
};

/// A candidate to make: generators[generator]->generate(decisions).
struct move {
  std::int64_t id = 0;  ///< 0, 1, 2, ... in the order in which next() gave them
  std::size_t generator = 0;
  assignment decisions;  ///< normalised, never given twice for one generator
  move_kind kind = move_kind::draft;
  memory_mode memory = memory_mode::clean_slate;
  std::vector<std::int64_t> parents;  ///< move ids
  std::string rationale;
};

/// What came of a move.
struct move_outcome {
  bool passed = false;           ///< verified; speed-up is meaningful
  double speedup = 0;            ///< geometric mean over workloads against the baseline
  double roofline_fraction = 0;  ///< floor time / measured time, 0 when unknown
  std::string machine_code;      ///< hash; a move whose code an earlier one had counts as that node
  bool measured = true;          ///< false: an earlier node's evaluation was reused; costs no budget
};

class search {
 public:
  virtual ~search() = default;
  /// The next candidate to make; nullopt while waiting for outcomes or when finished.
  [[nodiscard]] virtual std::optional<move> next() = 0;
  /// Must be called exactly once per move, in any order.
  virtual void observe(std::int64_t move_id, const move_outcome& outcome) = 0;
  [[nodiscard]] virtual bool finished() const = 0;
  /// "target" | "budget" | "stall" | "roofline" | "exhausted", empty while running.
  [[nodiscard]] virtual std::string stopped_by() const = 0;
  /// Best verified move so far.
  [[nodiscard]] virtual std::optional<std::int64_t> best() const = 0;
  /// Digest of the whole state, for replay tests.
  [[nodiscard]] virtual std::string digest() const = 0;
};

/// `generators` outlive the search. Fails for an unknown policy (with the nearest name).
[[nodiscard]] result<std::unique_ptr<search>> make_search(const search_settings& settings, std::span<const generator* const> generators,
                                                          std::vector<warm_start> starts);

}  // namespace kernsmith::agents
