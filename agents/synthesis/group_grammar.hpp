// How one fusion group (some consecutive statements that become one loop nest) is decided and emitted. Each class of operators has a
// grammar; the rules grammar (rules_grammar.hpp) picks groups, asks the grammars, and puts the pieces into one readable source file.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agents/synthesis/decision_space.hpp"
#include "agents/synthesis/ir.hpp"
#include "agents/synthesis/machine_model.hpp"

namespace kernsmith::agents {

/// Statements (ids into tensor_ir::statements, ascending) that one loop nest computes. Tensors that are written and read only inside
/// the group need no storage unless the grammar asks for some.
struct fusion_group {
  std::string name;  ///< prefix of its decisions and functions, e.g. "y" (the last target): unique in the problem
  std::vector<int> statements;
};

/// What a grammar emits for one group. Conventions of the emitted file, which all grammars rely on:
///  - it starts with `#include "kernsmith_kernel.h"`, the standard headers, the prelude pieces asked for, then the groups' functions, then
///  `launch`;
///  - launch() defines for each axis `const int64_t N = ctx->axes[i];` and for each stored tensor a typed pointer of the tensor's own name
///  (inputs
///    `const T* __restrict`, others `T* __restrict`), where T is storage_type(dtype): double, float, _Float16 (f16), ks_bf16, ks_f8e4m3,
///    ks_f8e5m2 (prelude structs around the bits), int64_t, int32_t, int16_t, int8_t, uint8_t, and uint8_t for bool;
///  - names are made safe by emitted_name() (C++ keywords, clashes with prelude);
///  - `ctx->threads` is the number of OpenMP threads to use.
struct emitted_group {
  std::string functions;           ///< definitions at namespace scope, formatted, commented with the decisions that made them
  std::string call;                ///< statements inside launch()
  std::set<std::string> preludes;  ///< prelude pieces needed (prelude.hpp)
  std::vector<int> stored;         ///< intermediates that this group writes to memory for later groups or for itself
  std::string scratch_bytes = {};  ///< SIMT targets: size_t expression over the axes; empty: none (simt/simt_grammar.hpp)
};

class group_grammar {
 public:
  virtual ~group_grammar() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Can this grammar compute the whole group as one loop nest?
  [[nodiscard]] virtual bool accepts(const tensor_ir& ir, const fusion_group& group) const = 0;
  /// What may be decided; names start with "<group.name>.".
  [[nodiscard]] virtual std::vector<decision> decisions(const tensor_ir& ir, const fusion_group& group,
                                                        const machine_model& machine) const = 0;
  /// Resets decisions that others make meaningless to their preferred value, so that equal code has one assignment.
  virtual void normalise(const tensor_ir& ir, const fusion_group& group, const machine_model& machine, assignment& chosen) const = 0;
  /// `chosen` is legal and normalised.
  [[nodiscard]] virtual emitted_group emit(const tensor_ir& ir, const fusion_group& group, const machine_model& machine,
                                           const assignment& chosen) const = 0;
};

/// GEMM-like groups: optional elementwise prologue on the operands, one contraction, elementwise epilogue (contraction_grammar.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_contraction_grammar();
/// Maps, row and column reductions, map-reduce-map chains, scans, gathers over a common row index (row_grammar.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_row_grammar();
/// Convolution and pooling, direct (window_grammar.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_window_grammar();
/// Any single statement, as plain parallel loops: always accepts, always right (plain_grammar.cpp).
[[nodiscard]] std::unique_ptr<group_grammar> make_plain_grammar();

}  // namespace kernsmith::agents
