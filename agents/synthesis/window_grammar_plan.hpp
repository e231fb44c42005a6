// A fusion group read as a window: a reduction over shifted or strided elements (convolution, pooling), with what follows it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agents/synthesis/contraction_grammar_schedule.hpp"

namespace kernsmith::agents::nest {

struct window_plan {
  program p;
  reduction reducer = reduction::sum;
  bool wide = false;
  std::vector<int> outer;  ///< free loop variables but the lane, outermost first
  int lane = -1;           ///< free variable along the lanes
  int block = -1;          ///< free variable whose neighbours share what is loaded along the lanes; -1: none
  std::vector<int> bound;
  int body = -1;
  std::vector<step> steps;
  std::vector<int> stored;
};

/// The direct form; nothing when the group is no window of real numbers or can't be computed in lanes along its last index.
[[nodiscard]] std::optional<window_plan> plan_window(const tensor_ir& ir, const fusion_group& group);

/// A sum of products of which one factor, the weights, varies along the block variable (the channels of a result) and not along the lanes'
/// index, the other the other way round. Lanes may then lie along the channels, and what slides is read one element at a time.
/// Of a padded load whose positions along the line lie side by side in memory: what one run of the innermost summed index reads of it for
/// some neighbours is one stretch, which can be copied with its pad.
struct channel_span {
  guard along;                   ///< the padded dimension
  std::int64_t step = 1;         ///< positions from a neighbour to the next
  std::int64_t window_step = 0;  ///< from one value of the innermost summed index to the next
  std::int64_t window_extent = 1;
};
struct channel_plan {
  int weights = -1, values = -1;  ///< trees
  std::vector<int> groups;        ///< outer variables that the weights vary with beside the channels
  std::optional<channel_span> span;
};
[[nodiscard]] std::optional<channel_plan> plan_channels(const window_plan& plan);

struct channel_schedule {
  int vectors = 2;  ///< of channels
  int points = 6;   ///< neighbours along the plan's lane index that share what is loaded of the weights
};
[[nodiscard]] std::vector<decision> channel_decisions(const window_plan& plan, const std::string& group, const machine_model& machine);
[[nodiscard]] channel_schedule read_channel_schedule(const std::string& group, const machine_model& machine, const assignment& chosen);

struct window_schedule {
  int vectors = 2;  ///< neighbouring outputs per step, in vectors
  int block = 1;    ///< neighbours of the block variable computed together
  bool unroll = true;
};
[[nodiscard]] std::vector<decision> window_decisions(const window_plan& plan, const std::string& group, const machine_model& machine);
[[nodiscard]] window_schedule read_window_schedule(const std::string& group, const machine_model& machine, const assignment& chosen);

[[nodiscard]] emitted_group emit_channels(const window_plan& plan, const channel_plan& channels, const channel_schedule& schedule,
                                          const fusion_group& group, const std::string& decisions);
[[nodiscard]] emitted_group emit_window(const window_plan& plan, const window_schedule& schedule, const fusion_group& group,
                                        const std::string& decisions);

}  // namespace kernsmith::agents::nest
