// Row programs as Triton: a program takes a tile of some rows, and sweeps over their elements or holds them whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/row_grammar_plan.hpp"
#include "agents/synthesis/simt/simt_program.hpp"
#include "agents/synthesis/triton/triton_emission.hpp"
#include "agents/synthesis/triton/triton_expression.hpp"

namespace kernsmith::agents::triton {

/// Elements of a tile for each warp at most: 128 for each lane.
inline constexpr std::int64_t warp_elements = 4096;

/// What is decided about a row program.
struct row_choice {
  std::int64_t tile = 1024;  ///< elements of a tile
  std::int64_t rows = 1;     ///< rows of a tile
  std::int64_t whole = 0;    ///< longest row that a tile holds whole; 0: rows are always swept
  std::int64_t warps = 4;
  std::int64_t stages = 1;
  std::int64_t split = 1;  ///< programs that share a row
};

/// Is a program one that these writers can write?
[[nodiscard]] bool can_write(const simt::simt_program& p);
/// Does it sweep at all? Otherwise it only maps.
[[nodiscard]] bool sweeps(const simt::simt_program& p);
/// Can a tile hold rows whole: is there one list of indices that all sweeps run over?
[[nodiscard]] bool can_hold(const simt::simt_program& p);
/// Can several programs share a row?
[[nodiscard]] bool can_share(const simt::simt_program& p);
/// Of a map: the index along which some tensor lies that another doesn't lie along.
[[nodiscard]] std::optional<int> across_class(const simt::simt_program& p);

/// Kernels and the host function "<group>_group". `host`: the IR with the names of launch().
[[nodiscard]] std::string write_rows(const simt::simt_program& p, const tensor_ir& host, const row_choice& choice);
/// The call of that function.
[[nodiscard]] std::string call_rows(const simt::simt_program& p, const tensor_ir& host);

}  // namespace kernsmith::agents::triton
