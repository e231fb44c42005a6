// How each reduction accumulates in lanes: initial values, updates and the merging of accumulators.
#pragma once

#include <string>

#include "agents/synthesis/row_grammar_program.hpp"

namespace kernsmith::agents::row {

/// Class of values that the argument of a reduction is accumulated in.
[[nodiscard]] value_class accumulated_as(const row_statement& s);
/// Sums of reals in float lanes are folded into a compensated total block by block.
[[nodiscard]] bool is_compensated(const row_program& p, const row_statement& s);
[[nodiscard]] bool is_position(reduction r);

/// "real" or "whole".
[[nodiscard]] std::string accumulator_type(const row_statement& s);
[[nodiscard]] std::string initial_lanes(const row_statement& s);
[[nodiscard]] std::string initial_scalar(const row_statement& s);
/// `into` with `value` taken in, both in lanes.
[[nodiscard]] std::string update_lanes(const row_statement& s, const std::string& into, const std::string& value);
/// A function object that merges two accumulators (lanes or scalars).
[[nodiscard]] std::string merger(const row_statement& s);
/// The C++ type of the reduced scalar: "double", "int64_t" or "bool".
[[nodiscard]] std::string scalar_type(value_class type);

}  // namespace kernsmith::agents::row
