// The tensor IR of the rules synthesizer: a problem's definition in normal form. It is built by lower() and never changes afterwards.
#pragma once

#include <string>
#include <vector>

#include "config/problem.hpp"

namespace kernsmith::agents {

/// What a statement is, as far as schedules are concerned.
enum class op_class : std::uint8_t {
  map,          ///< no reduction: every element on its own (gathers included)
  reduction,    ///< root is a reduce whose body is not a product over disjoint free indices
  contraction,  ///< root is sum of a product A * B where each factor lacks a free index that the other has, indices affine and sole: GEMM,
                ///< GEMV, batched
  window,       ///< root is a reduce whose loads index `free + bound` sums (conv, pooling)
  scan,         ///< root is a scan
};

/// Invariants beyond those of `statement` (config/definition.hpp):
///  - a reduce or scan node is always the root of its statement (lower() hoists nested ones into new intermediates called "<target>_r0",
///  "..._r1", ...;
///    an outer elementwise expression becomes a statement of its own);
///  - casts and pads are as in the problem.
struct tensor_ir {
  std::vector<axis> axes;
  std::vector<tensor_declaration> tensors;  ///< the problem's tensors in the problem's order, then hoisted intermediates
  std::vector<statement> statements;        ///< in order; each tensor written once
  std::vector<op_class> classes;            ///< parallel to statements
  std::vector<workload> workloads;          ///< for analytical choices only: emitted code handles any legal axes

  /// Statements that read `tensor`.
  [[nodiscard]] std::vector<int> consumers(int tensor) const;
  /// The statement that writes `tensor`, or -1 for inputs.
  [[nodiscard]] int producer(int tensor) const;
};

/// Fails (bad_request) only for a problem without a definition.
[[nodiscard]] result<tensor_ir> lower(const problem& p);

}  // namespace kernsmith::agents
