// Which values an expression can take under given axes: interval arithmetic, for proving that loads stay inside their tensors.
#pragma once

#include <vector>

#include "config/problem.hpp"

namespace kernsmith {

/// Closed interval; infinite ends where nothing is known.
struct value_interval {
  double low;
  double high;
};

class value_ranges {
 public:
  /// `axes` parallel to p.axes, all positive. `p` must outlive this.
  value_ranges(const problem& p, const std::vector<std::int64_t>& axes);

  [[nodiscard]] value_interval of_position(const statement& s, const index_expression& position) const;
  [[nodiscard]] value_interval of_node(const statement& s, int node) const;
  /// Whether every product in the position fits into 53 bits, so that int64 arithmetic on it can't overflow.
  [[nodiscard]] bool fits(const statement& s, const index_expression& position) const;

 private:
  [[nodiscard]] value_interval of_call(const statement& s, const expression& e) const;
  [[nodiscard]] value_interval of_reduction(const statement& s, const expression& e) const;
  [[nodiscard]] value_interval of_input(const tensor_declaration& t) const;
  [[nodiscard]] double extent(const statement& s, int variable) const;

  const problem& p_;
  const std::vector<std::int64_t>& axes_;
  std::vector<value_interval> tensors_;
};

}  // namespace kernsmith
