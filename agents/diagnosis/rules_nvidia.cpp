// What speaks for which bottleneck on an NVIDIA GPU. Thresholds were set on counters of an H200 for kernels of known kind
// (tests/agents/diagnosis_recorded_test.cpp): a large copy shows 0.81 of the device memory's peak, a chain of multiply-adds 0.91 of its
// pipe.
#include "agents/diagnosis/rules.hpp"

namespace kernsmith::agents {

namespace {

using enum comparison;

constexpr condition memory_needs[] = {
    {"dram_throughput", above, 0.5, "device memory is busy most of the time"},
};
constexpr condition memory_supports[] = {
    {"stall_global_memory", above, 0.4, "warps wait for loads from memory"},
    {"issue_active", below, 0.4, "the schedulers have little to issue meanwhile"},
};

constexpr condition level_two_needs[] = {
    {"l2_throughput", above, 0.55, "the second-level cache is busy most of the time"},
    {"dram_throughput", below, 0.5, "device memory is not"},
};
constexpr condition level_one_needs[] = {
    {"l1_throughput", above, 0.65, "the first-level cache and shared memory are busy most of the time"},
    {"dram_throughput", below, 0.5, "device memory is not"},
};
constexpr condition cache_supports[] = {
    {"issue_active", below, 0.7, "the schedulers wait"},
};

constexpr condition compute_needs[] = {
    {"busiest_pipe", above, 0.6, "one execution pipe is busy most of the time"},
    {"sm_throughput", above, 0.5, "over the whole launch, not only while work is there"},
};
constexpr condition compute_supports[] = {
    {"issue_active", above, 0.7, "the schedulers issue in most cycles"},
    {"stall_global_memory", below, 0.2, "warps hardly wait for memory"},
};

constexpr condition latency_needs[] = {
    {"stall_global_memory", above, 0.5, "warps spend their time waiting for loads"},
    {"issue_active", below, 0.3, "the schedulers have nothing to issue meanwhile"},
    {"busiest_memory_level", below, 0.5, "no level of the memory is busy: it is the wait, not the rate"},
};
constexpr condition latency_supports[] = {
    {"resident_warps", below, 4.0, "few warps are there to take turns"},
};

constexpr condition few_warps_needs[] = {
    {"theoretical_occupancy", below, 0.4, "registers, shared memory or the block size let few warps reside"},
    {"issue_active", below, 0.5, "the schedulers have too little to choose from"},
    {"busiest_memory_level", below, 0.6, "no level of the memory is at its limit"},
};
constexpr condition few_warps_supports[] = {
    {"achieved_occupancy", below, 0.25, "few warps were there on average"},
    {"stall_global_memory", above, 0.4, "what they wait for could be hidden by others"},
    {"blocks_by_shared_memory", below, 2.0, "shared memory allows one block at a time"},
    {"blocks_by_registers", below, 2.0, "registers allow one block at a time"},
};

constexpr condition few_blocks_needs[] = {
    {"waves", below, 0.5, "there are fewer blocks than the device could hold at once"},
    {"issue_active", below, 0.3, "the schedulers have too little to choose from"},
    {"busiest_memory_level", below, 0.6, "no level of the memory is at its limit"},
};

constexpr condition launch_needs[] = {
    {"launch_gap_share", above, 0.25, "much of a call's time lies between its kernels"},
    {"longest_kernel_ns", below, 20000, "the kernels are short"},
};
constexpr condition launch_supports[] = {
    {"kernels", above, 3.0, "one call launches several kernels"},
    {"waves", below, 0.5, "each fills a part of the device only"},
};
constexpr condition launch_contradicts[] = {
    {"host_waits", above, 0.5, "the host waits for the device inside of a call: the gaps are of its making"},
};
// Without counters: a call that takes about what one launch costs, and far from the roofline.
constexpr condition short_call_needs[] = {
    {"call_event_ns", below, 8000, "a call takes about as long as launching a few kernels"},
    {"roofline_fraction", below, 0.3, "bytes and arithmetic need much less"},
};

constexpr condition bank_needs[] = {
    {"bank_conflict_share", above, 0.3, "many passes through shared memory are repeats for lanes that met in a bank"},
    {"shared_pipe_share", above, 0.3, "shared memory is busy"},
};
constexpr condition bank_supports[] = {
    {"stall_memory_queue", above, 0.2, "warps wait for room in the memory queue"},
    {"stall_shared_memory", above, 0.2, "warps wait for answers of shared memory"},
};

constexpr condition uncoalesced_needs[] = {
    {"worst_sector_use", below, 0.6, "of each 32-byte sector that is moved a part is used"},
    {"busiest_memory_level", above, 0.5, "and a level of the memory is busy with it"},
    {"global_access_share", above, 0.01, "accesses to global memory are frequent"},
};
constexpr condition uncoalesced_supports[] = {
    {"stall_global_memory", above, 0.3, "warps wait for loads from memory"},
};
// Neighbouring accesses may use the rest of a sector out of the first-level cache.
constexpr condition uncoalesced_contradicts[] = {
    {"memory_fraction", above, 0.6, "moving the definition's bytes once at the measured copy rate takes most of the time"},
};

constexpr condition spill_needs[] = {
    {"spill_share", above, 0.05, "instructions move values between registers and local memory"},
};
constexpr condition spill_supports[] = {
    {"spill_bytes", above, 0, "the assembler reports spills"},
    {"stall_global_memory", above, 0.3, "warps wait for loads from memory"},
};
// Without counters: the assembler's report alone.
constexpr condition reported_spill_needs[] = {
    {"spill_bytes", above, 64, "the assembler reports spills"},
    {"roofline_fraction", below, 0.5, "neither bytes nor arithmetic of the definition explain the time"},
};
constexpr condition reported_spill_contradicts[] = {
    {"spill_share", below, 0.02, "few executed instructions are spills"},
};

constexpr condition barrier_needs[] = {
    {"stall_barrier", above, 0.25, "warps wait at barriers"},
};
constexpr condition barrier_supports[] = {
    {"issue_active", below, 0.6, "meanwhile the schedulers have too little to issue"},
};

constexpr condition host_wait_needs[] = {
    {"host_waits", above, 0.5, "the host waits for the device inside of a call"},
    {"launch_gap_share", above, 0.25, "meanwhile the device has nothing to do"},
};

constexpr condition imbalance_needs[] = {
    {"multiprocessor_balance", below, 0.7, "the average multiprocessor works far shorter than the longest"},
    {"waves", above, 0.5, "there are enough blocks for all of them"},
};
constexpr condition imbalance_supports[] = {
    {"dram_throughput", below, 0.3, "device memory is not busy"},
};

constexpr condition atomic_needs[] = {
    {"atomic_unit_busiest", above, 0.4, "one slice of the second-level cache is busy with atomic updates"},
};
constexpr condition atomic_supports[] = {
    {"issue_active", below, 0.2, "the schedulers wait"},
    {"stall_global_queue", above, 0.2, "warps wait for room in the memory queue"},
};

constexpr condition divergence_needs[] = {
    {"lanes_used", below, 0.6, "executed instructions leave lanes idle"},
    {"issue_active", above, 0.4, "the schedulers are busy issuing them"},
};

constexpr condition front_end_needs[] = {
    {"stall_no_instruction", above, 0.25, "warps wait for instructions"},
    {"waves", above, 0.5, "and not only for those at the launch's beginning"},
};

// Without counters: the roofline from outside.
constexpr condition roofline_memory_needs[] = {
    {"memory_fraction", above, 0.5, "moving the definition's bytes at the measured copy rate takes most of the time"},
    {"cache_resident", below, 0.5, "the data does not stay in the cache"},
};
constexpr condition roofline_compute_needs[] = {
    {"compute_fraction", above, 0.5, "the definition's arithmetic at the measured peak takes most of the time"},
};

constexpr rule rules[] = {
    {bottleneck::memory_bandwidth, {"dram_throughput", 0.3, 0.8}, memory_needs, memory_supports},
    {bottleneck::memory_bandwidth, {"memory_fraction", 0.2, 0.85}, roofline_memory_needs},
    {bottleneck::cache_bandwidth, {"l2_throughput", 0.4, 0.85}, level_two_needs, cache_supports},
    {bottleneck::cache_bandwidth, {"l1_throughput", 0.5, 0.95}, level_one_needs, cache_supports},
    {bottleneck::compute, {"busiest_pipe", 0.4, 0.9}, compute_needs, compute_supports},
    {bottleneck::compute, {"compute_fraction", 0.2, 0.85}, roofline_compute_needs},
    {bottleneck::latency, {"stall_global_memory", 0.3, 0.9}, latency_needs, latency_supports},
    // Causes before what they exhaust.
    {bottleneck::occupancy, {"theoretical_occupancy", 0.5, 0.1}, few_warps_needs, few_warps_supports, {}, 0.15},
    {bottleneck::occupancy, {"waves", 0.6, 0.05}, few_blocks_needs, {}, {}, -0.15},
    {bottleneck::launch_overhead, {"launch_gap_share", 0.1, 0.6}, launch_needs, launch_supports, launch_contradicts, 0.2},
    {bottleneck::launch_overhead, {"call_event_ns", 10000, 3000}, short_call_needs},
    {bottleneck::bank_conflicts, {"bank_conflict_share", 0.1, 0.8}, bank_needs, bank_supports, {}, 0.2},
    {bottleneck::uncoalesced_access,
     {"worst_sector_use", 0.8, 0.25},
     uncoalesced_needs,
     uncoalesced_supports,
     uncoalesced_contradicts,
     0.15},
    {bottleneck::spills, {"spill_share", 0.01, 0.3}, spill_needs, spill_supports, {}, 0.2},
    {bottleneck::spills, {"spill_bytes", 0, 400}, reported_spill_needs, {}, reported_spill_contradicts},
    {bottleneck::synchronisation, {"stall_barrier", 0.15, 0.6}, barrier_needs, barrier_supports, {}, 0.15},
    {bottleneck::synchronisation, {"launch_gap_share", 0.1, 0.6}, host_wait_needs, {}, {}, 0.25},
    {bottleneck::load_imbalance, {"multiprocessor_balance", 0.9, 0.4}, imbalance_needs, imbalance_supports, {}, 0.15},
    {bottleneck::atomics, {"atomic_unit_busiest", 0.2, 0.7}, atomic_needs, atomic_supports, {}, 0.2},
    {bottleneck::divergence, {"lanes_used", 0.8, 0.3}, divergence_needs, {}, {}, 0.1},
    {bottleneck::front_end, {"stall_no_instruction", 0.1, 0.6}, front_end_needs},
};

}  // namespace

std::span<const rule> nvidia_rules() {
  return rules;
}

}  // namespace kernsmith::agents
