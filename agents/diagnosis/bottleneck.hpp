// The fixed vocabulary of what can limit a kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kernsmith::agents {

enum class bottleneck : std::uint8_t {
  memory_bandwidth,      ///< main or device memory delivers as much as it can
  cache_bandwidth,       ///< a cache, or shared memory without conflicts, delivers as much as it can
  compute,               ///< an execution unit is busy all the time
  latency,               ///< results are waited for, and there is too little independent work meanwhile
  launch_overhead,       ///< starting the work costs more than the work
  occupancy,             ///< too few threads are resident or running to hide what they wait for
  bank_conflicts,        ///< accesses to shared memory wait for each other
  uncoalesced_access,    ///< most of what a memory transaction or cache line brings is not used
  spills,                ///< values that don't fit into registers travel through memory
  synchronisation,       ///< threads wait for each other at barriers or in the thread runtime
  load_imbalance,        ///< some threads or multiprocessors work while others have nothing to do
  atomics,               ///< updates of the same places are made one after the other
  branch_misprediction,  ///< work is thrown away at wrongly guessed branches
  divergence,            ///< lanes of a warp go different ways and wait for each other
  vectorisation,         ///< one element at a time where the processor could do several
  front_end,             ///< instructions don't arrive fast enough
  unclear,               ///< the signals contradict each other, or too few could be read
};

inline constexpr std::size_t bottleneck_count = static_cast<std::size_t>(bottleneck::unclear) + 1;

/// "memory_bandwidth"
[[nodiscard]] std::string_view name_of(bottleneck which);
/// One sentence for people.
[[nodiscard]] std::string_view meaning_of(bottleneck which);
[[nodiscard]] std::optional<bottleneck> bottleneck_named(std::string_view name);

}  // namespace kernsmith::agents
