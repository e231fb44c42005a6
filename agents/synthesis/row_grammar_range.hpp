// Which lanes a row program may be computed in: float and int32, or double and int64.
#pragma once

#include <optional>

namespace kernsmith::agents::row {

struct row_program;

/// True when float / int32 lanes could give another answer than the definition's float64 / int64 arithmetic: f64 and i64 values, integers
/// that may leave 31 bits where that shows, and decisions (comparisons, rounding to integers, argmax) on values that float arithmetic
/// doesn't hold exactly. nullopt: not even double / int64 lanes will do.
[[nodiscard]] std::optional<bool> needs_wide_lanes(const row_program& p);

/// Does the program count or number things in its integer lanes, so that int32 lanes need extents below 2^31?
[[nodiscard]] bool numbers_indices(const row_program& p);

}  // namespace kernsmith::agents::row
