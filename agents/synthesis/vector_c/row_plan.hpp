// How a group of statements over common rows is computed: in sweeps along the last index, each needing what the sweeps before it reduced.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/group_grammar.hpp"

namespace kernsmith::agents::vector_c {

enum class row_part : std::uint8_t {
  vector_map,  ///< a value for each element of the row
  row_reduce,  ///< a reduction along the row
  row_map,     ///< one value for each row, from others like it
};

struct planned_statement {
  int id = -1;  ///< into tensor_ir::statements
  row_part part = row_part::vector_map;
  int inner = -1;  ///< the variable along the row, or -1
  int level = 0;   ///< the sweep that computes it; a row_map comes before the sweep of its level
};

struct row_plan {
  std::size_t rows = 0;  ///< indices that number the rows: the first of every target
  std::vector<planned_statement> statements;
  int sweeps = 0;
  std::vector<int> revisited;  ///< tensors of vector_maps that a later sweep needs again
  bool has_exp = false;
  bool divides_by_rows = false;  ///< a vector divided by a value of its row

  [[nodiscard]] const planned_statement* producer(const tensor_ir& ir, int tensor) const;
};

/// Nothing where the group has no such form.
[[nodiscard]] std::optional<row_plan> plan_rows(const tensor_ir& ir, const fusion_group& group);

}  // namespace kernsmith::agents::vector_c
