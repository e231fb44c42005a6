// Shapes and contents beside the workloads on which a candidate must be right: made once per problem, checked for every candidate.
#pragma once

#include <memory>
#include <vector>

#include "backends/cpp/workbench.hpp"

namespace kernsmith::cpp {

struct edge_case {
  test_case c;
  std::unique_ptr<kernel_buffers> buffers;  ///< the candidate's; the guard page touches the end or the start in turn
};

class edge_cases {
 public:
  explicit edge_cases(workbench& bench) : bench_(bench) {}
  /// The first `count` edge shapes, small ones first. Shapes that the problem's own baseline can't do are left out.
  [[nodiscard]] result<std::vector<edge_case*>> shapes(std::size_t count);
  /// Contents that hurt, on a small shape; those that the problem's own baseline can't stand are left out.
  [[nodiscard]] result<std::vector<edge_case*>> contents();
  /// A workload's shape made smaller; null when the problem's own baseline can't do it. Made once.
  [[nodiscard]] result<edge_case*> shrunk(const std::vector<std::int64_t>& axes);
  /// A shape that nobody knew before.
  [[nodiscard]] result<edge_case*> hidden(std::uint64_t seed);

 private:
  [[nodiscard]] result<edge_case*> add(std::vector<std::unique_ptr<edge_case>>& to, std::string what, const std::vector<std::int64_t>& axes,
                                       content kind, std::uint64_t seed, bool with_rare_large = false);

  workbench& bench_;
  std::vector<std::vector<std::int64_t>> proposed_;
  bool proposed_known_ = false;
  std::size_t shapes_made_ = 0;
  bool contents_made_ = false;
  std::size_t made_ = 0;
  // All stay for the life of the bench: the reference and the baseline keep the buffers mapped.
  std::vector<std::unique_ptr<edge_case>> shapes_, contents_, shrunk_, hidden_, left_out_;
};

}  // namespace kernsmith::cpp
