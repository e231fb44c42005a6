// One element of a statement's target as scalar C: the loops of its reduction around an accumulator, and the store. What grammars fall back
// on when nothing quicker applies.
#pragma once

#include <functional>

#include "agents/synthesis/source_writer.hpp"
#include "agents/synthesis/vector_c/c_scalar.hpp"

namespace kernsmith::agents::vector_c {

struct element_writing {
  /// Opens the loop over a variable; `innermost`: of a reduction that keeps one value.
  std::function<void(int variable, bool innermost)> open_loop;
  bool sums_in_double = false;  ///< sums and products of reals, however long, keep their digits
};

/// The variables that number the elements: a scan writes a whole line along its own.
[[nodiscard]] std::vector<int> element_variables(const statement& s);
[[nodiscard]] bool is_reduction(const statement& s);

/// Lines for the element (scan: the line) at element_variables().
void write_element(source_writer& out, const statement& s, const c_scalar& scalar, const element_writing& how);

}  // namespace kernsmith::agents::vector_c
