// What speaks for which bottleneck on a CPU. Thresholds come from kernels of known kind (tests/agents/diagnosis_recorded_test.cpp), not
// from theory: a copy that reaches its peak shows a memory fraction above 0.8, a chain of dependent additions a dependency share above 0.6.
#include "agents/diagnosis/rules.hpp"

namespace kernsmith::agents {

namespace {

using enum comparison;

constexpr condition memory_needs[] = {
    {"memory_fraction", above, 0.35, "moving the definition's bytes at the measured copy rate takes a good part of the time"},
    {"cache_resident", below, 0.5, "the data does not stay in the caches"},
};
constexpr condition memory_supports[] = {
    {"parallel_efficiency", below, 0.75, "more threads bring less than their share: they share the memory"},
    {"instructions_per_operation", below, 1.0, "few instructions are spent per operation"},
};

constexpr condition cache_needs[] = {
    {"memory_fraction", above, 0.35, "moving the bytes at the measured cache rate takes a good part of the time"},
    {"cache_resident", above, 0.5, "the data stays in the caches"},
};
constexpr condition cache_supports[] = {
    {"memory_instruction_share", above, 0.35, "much of the code is loads and stores"},
};

constexpr condition compute_needs[] = {
    {"compute_fraction", above, 0.35, "the definition's arithmetic at the measured multiply-add peak takes a good part of the time"},
};
constexpr condition compute_supports[] = {
    {"vector_share", above, 0.8, "the arithmetic is done in vectors"},
    {"parallel_efficiency", above, 0.8, "threads scale: nothing is shared that runs out"},
};

// Far from the multiply-add peak, and still the units of the hottest loop are busy: divisions, functions, conversions, narrow vectors.
constexpr condition ports_needs[] = {
    {"loop_busiest_port_share", above, 0.6, "one kind of execution unit works most of the time in the hottest loop"},
    {"modelled_share", above, 0.5, "the loop's model, which knows no cache misses, explains most of the time"},
    {"memory_fraction", below, 0.5, "memory is not what takes the time"},
    {"kernel_code_share", above, 0.5, "the time is spent in the kernel's own code"},
};
constexpr condition ports_supports[] = {
    {"division_share", above, 0.02, "divisions or square roots are frequent"},
    {"parallel_efficiency", above, 0.8, "threads scale: nothing is shared that runs out"},
};
constexpr condition ports_contradicts[] = {
    {"loop_dependency_share", above, 0.5, "the loop waits for its own results"},
    {"l2_traffic_ratio", above, 3.0, "much more is moved than the definition needs"},
};

constexpr condition latency_needs[] = {
    {"loop_dependency_share", above, 0.4, "each round of the hottest loop waits for a result of the one before"},
    {"hot_block_share", above, 0.3, "the hottest loop is much of the kernel"},
    {"memory_fraction", below, 0.5, "memory bandwidth is not what takes the time"},
    {"compute_fraction", below, 0.5, "arithmetic throughput is not what takes the time"},
};
constexpr condition latency_supports[] = {
    {"loop_ipc", below, 1.5, "few instructions per cycle"},
    {"l1_miss_rate", above, 0.2, "what is waited for comes from beyond the first-level cache"},
};

constexpr condition vector_needs[] = {
    {"vector_share", below, 0.5, "most of the floating-point arithmetic is scalar"},
    {"float_instruction_share", above, 0.08, "floating-point arithmetic is a good part of the code"},
    {"kernel_code_share", above, 0.4, "the time is spent in the kernel's own code"},
    {"memory_fraction", below, 0.5, "memory is not what takes the time"},
};
constexpr condition vector_supports[] = {
    {"instructions_per_operation", above, 1.0, "more than one instruction per operation of the definition"},
    {"loop_dependency_share", above, 0.4, "a single chain of results: vectors would break it into several"},
};
constexpr condition vector_contradicts[] = {
    {"l1_miss_rate", above, 0.25, "many accesses miss the first-level cache: vectors would wait for the same data"},
};

constexpr condition math_needs[] = {
    {"math_library_share", above, 0.3, "the time goes to functions of the C library, called for one element at a time"},
};
constexpr condition math_supports[] = {
    {"instructions_per_operation", above, 1.0, "more than one instruction per operation of the definition"},
};

constexpr condition strided_needs[] = {
    {"l2_traffic_ratio", above, 2.0, "the caches fetch several times the bytes that the definition needs"},
    {"l1_miss_rate", above, 0.05, "accesses miss the first-level cache more often than a walk along the rows would"},
};
constexpr condition strided_supports[] = {
    {"gather_share", above, 0.01, "elements are gathered one by one"},
    {"l1_traffic_ratio", above, 4.0, "lines leave the first-level cache before they are used up"},
};

constexpr condition spill_needs[] = {
    {"stack_access_share", above, 0.1, "instructions of the kernel read or write the stack"},
    {"kernel_code_share", above, 0.4, "the time is spent in the kernel's own code"},
    {"memory_fraction", below, 0.6, "memory is not what takes the time"},
};
constexpr condition spill_supports[] = {
    {"float_instruction_share", above, 0.2, "the code around them is arithmetic"},
};

constexpr condition overhead_needs[] = {
    {"fork_join_share", above, 0.25, "starting and joining the threads takes a good part of the time"},
};
constexpr condition overhead_supports[] = {
    {"time_ns", below, 30000, "the whole call takes microseconds"},
    {"thread_runtime_share", above, 0.2, "samples fall into the thread runtime"},
    {"parallel_efficiency", below, 0.6, "one thread alone is nearly as fast"},
};

constexpr condition waiting_needs[] = {
    {"thread_runtime_share", above, 0.2, "threads spend their time in the thread runtime, waiting for each other"},
    {"thread_imbalance", below, 0.2, "the work itself is spread evenly"},
};
constexpr condition waiting_supports[] = {
    {"parallel_regions", above, 4.0, "one call starts many parallel regions"},
    {"fork_join_share", above, 0.1, "starting and joining them takes time"},
};

constexpr condition imbalance_needs[] = {
    {"thread_imbalance", above, 0.2, "one thread does much more than the others"},
    {"parallel_efficiency", below, 0.8, "more threads bring less than their share"},
};
constexpr condition imbalance_supports[] = {
    {"idle_share", above, 0.15, "cores stand idle during the call"},
    {"parallel_regions", below, 0.5, "no parallel region is ever started"},
};

// Threads that take turns with the larger part even out over many calls; the cores' idle time does not.
constexpr condition idle_needs[] = {
    {"idle_share", above, 0.25, "cores stand idle during a good part of the call"},
    {"parallel_efficiency", below, 0.75, "more threads bring less than their share"},
    {"fork_join_share", below, 0.1, "and not because starting them takes long"},
    {"memory_fraction", below, 0.5, "nor because they share the memory"},
};

constexpr condition branch_needs[] = {
    {"branch_mispredictions", above, 8.0, "branches are guessed wrongly often"},
    {"memory_fraction", below, 0.6, "memory is not what takes the time"},
};
constexpr condition branch_supports[] = {
    {"branch_share", above, 0.12, "branches are frequent"},
};

constexpr condition front_end_needs[] = {
    {"code_misses", above, 5.0, "instructions miss their first-level cache"},
};

constexpr rule rules[] = {
    {bottleneck::memory_bandwidth, {"memory_fraction", 0.2, 0.8}, memory_needs, memory_supports},
    {bottleneck::cache_bandwidth, {"memory_fraction", 0.2, 0.8}, cache_needs, cache_supports},
    {bottleneck::compute, {"compute_fraction", 0.2, 0.8}, compute_needs, compute_supports},
    {bottleneck::compute, {"loop_busiest_port_share", 0.4, 1.0}, ports_needs, ports_supports, ports_contradicts},
    {bottleneck::latency, {"loop_dependency_share", 0.2, 0.8}, latency_needs, latency_supports},
    // Scalar code and what follows from it (busy ports, long chains) come together; the cause is named.
    {bottleneck::vectorisation, {"vector_share", 0.9, 0.2}, vector_needs, vector_supports, vector_contradicts, 0.1},
    {bottleneck::vectorisation, {"math_library_share", 0.1, 0.6}, math_needs, math_supports, {}, 0.1},
    {bottleneck::uncoalesced_access, {"l2_traffic_ratio", 1.2, 4.0}, strided_needs, strided_supports, {}, 0.1},
    {bottleneck::spills, {"stack_access_share", 0.05, 0.35}, spill_needs, spill_supports, {}, 0.1},
    {bottleneck::launch_overhead, {"fork_join_share", 0.1, 0.6}, overhead_needs, overhead_supports, {}, 0.1},
    {bottleneck::synchronisation, {"thread_runtime_share", 0.1, 0.5}, waiting_needs, waiting_supports},
    {bottleneck::load_imbalance, {"thread_imbalance", 0.05, 0.4}, imbalance_needs, imbalance_supports},
    {bottleneck::load_imbalance, {"idle_share", 0.1, 0.45}, idle_needs, {}, {}, 0.15},
    {bottleneck::branch_misprediction, {"branch_mispredictions", 4.0, 30.0}, branch_needs, branch_supports},
    {bottleneck::front_end, {"code_misses", 2.0, 20.0}, front_end_needs},
};

}  // namespace

std::span<const rule> cpu_rules() {
  return rules;
}

}  // namespace kernsmith::agents
