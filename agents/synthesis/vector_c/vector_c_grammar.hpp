// Grammars that write C for a target described by its owner: plain loops for its compiler to make the best of, and loops over vectors of
// whatever length the machine has (RISC-V vector intrinsics).
//
// Conventions of the emitted file, beside those of group_grammar.hpp: C17; real arithmetic in float (double where needs_double() says so);
// one thread; preludes are pieces of vector_c_prelude.hpp; vector code is float only.
#pragma once

#include <memory>

#include "agents/synthesis/group_grammar.hpp"
#include "agents/synthesis/rules_grammar.hpp"
#include "config/external_target.hpp"

namespace kernsmith::agents::vector_c {

/// What the grammars need to know of a target.
struct vector_model {
  std::string target;  ///< for the emitted file's heading
  target_dialect dialect = target_dialect::plain;
  std::int64_t vector_bytes = 0;
  std::int64_t max_group = 1;
};
[[nodiscard]] vector_model model_of(const external_target& target);

/// Any single statement as loops, with hints for the compiler.
[[nodiscard]] std::unique_ptr<group_grammar> make_plain_grammar(const vector_model& model);
/// Statements over common rows: maps and reductions along the last index, in sweeps over strips of vectors.
[[nodiscard]] std::unique_ptr<group_grammar> make_row_grammar(const vector_model& model);
/// A reduction over other indices than the last: a block of rows of accumulators, each as wide as a strip (matrix products, column sums).
[[nodiscard]] std::unique_ptr<group_grammar> make_across_grammar(const vector_model& model);

/// The rules generator over these grammars. bad_request for a problem without a definition.
[[nodiscard]] result<std::unique_ptr<generator>> make_vector_c_generator(const problem& p, const external_target& target);

}  // namespace kernsmith::agents::vector_c
