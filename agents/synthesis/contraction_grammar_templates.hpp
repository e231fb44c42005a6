// Source texts of emitted contractions. `@NAME@` marks what the emitter fills in; `fill` does it.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace kernsmith::agents::nest {

/// Replaces every `@KEY@` of `text`; a line that holds nothing but a key whose value is empty disappears.
[[nodiscard]] std::string fill(std::string_view text, const std::map<std::string, std::string>& values);

extern const std::string_view lane_helpers_text;  ///< read, write, splat, round_to ... over `real` and `vec`
extern const std::string_view pad_helpers_text;   ///< inside, read_padded
extern const std::string_view range_text;         ///< range, share
extern const std::string_view scratch_text;       ///< per-thread memory
extern const std::string_view transpose_text;
extern const std::string_view pack_right_columns_text, pack_right_depth_text, pack_right_scalar_text;
extern const std::string_view pack_left_depth_text, pack_left_rows_text, pack_left_scalar_text;
extern const std::string_view pairs_text, dot_integers_text, dot_bf16_text;
extern const std::string_view multiply_text;
extern const std::string_view finish_lanes_text, finish_scalar_text;
extern const std::string_view block_text;
extern const std::string_view run_shared_text, run_depth_text;
extern const std::string_view dot_text;

}  // namespace kernsmith::agents::nest
