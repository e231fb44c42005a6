// Products over a common index on the ordinary arithmetic units: any reduction of any expression whose operands each vary along one of two
// result indices (matrix products in f32 and f64, distances, min-plus), and what follows it element by element.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/simt/simt_program.hpp"

namespace kernsmith::agents::simt {

/// An operand that shared memory holds a tile of.
struct product_tile {
  int node = -1;                                ///< a load of the reduction
  std::vector<int> nodes;                       ///< all loads of the same element
  bool left = false;                            ///< varies along the rows of the result, else along its columns
  std::string name;                             ///< of the tile
  bool along_depth = false, along_own = false;  ///< contiguous along the summed index, or along the result's; or neither
};

struct product_plan {
  simt_program p;
  int reduce = -1;  ///< statement
  int row = -1, column = -1, depth = -1;
  std::vector<int> batch;
  std::vector<product_tile> tiles;

  [[nodiscard]] const expression& load_of(const product_tile& t) const { return p.at(reduce).nodes[static_cast<std::size_t>(t.node)]; }
  [[nodiscard]] dtype type_of(const product_tile& t) const { return p.tensor(load_of(t).symbol).type; }
  /// C++ type of a tile's elements.
  [[nodiscard]] std::string tile_type(const lane_code& code, const product_tile& t) const {
    return code.type_text(reduce, class_of(type_of(t)));
  }
  /// Bytes of the widest of tiles and sums.
  [[nodiscard]] int widest() const;
  /// Are all tiles as they lie in memory, so that they can be copied without going through registers?
  [[nodiscard]] bool copies_whole() const;
};

/// Nothing when the group is no such product.
[[nodiscard]] std::optional<product_plan> plan_product(const tensor_ir& ir, const fusion_group& group);

}  // namespace kernsmith::agents::simt
