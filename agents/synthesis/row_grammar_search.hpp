// Counting by search: sum(j: border[j] <= x) over a tensor of borders is a descent through the sorted borders, whatever their order was.
#pragma once

#include <optional>

#include "agents/synthesis/row_grammar_program.hpp"

namespace kernsmith::agents::row {

/// The one statement that may be computed by search, with its parts; nothing when the program isn't of that form: every other statement is
/// a map over rows, the borders are a whole one-dimensional tensor of at most 32-bit floats, and the value doesn't depend on the counted
/// index.
[[nodiscard]] std::optional<counted_search> find_search(const row_program& p);

/// The program with that statement computed per row instead of by a sweep.
[[nodiscard]] row_program with_search(row_program p, const counted_search& search);

}  // namespace kernsmith::agents::row
