#include "agents/diagnosis/bottleneck.hpp"

#include <array>

namespace kernsmith::agents {

namespace {

struct word {
  std::string_view name, meaning;
};

// In the order of the enumeration.
constexpr std::array<word, bottleneck_count> words = {{
    {"memory_bandwidth", "main or device memory delivers about as much as it can"},
    {"cache_bandwidth", "a cache or shared memory delivers about as much as it can"},
    {"compute", "an execution unit is busy nearly all the time"},
    {"latency", "results are waited for, with too little independent work meanwhile"},
    {"launch_overhead", "starting the work costs more than the work itself"},
    {"occupancy", "too few threads are at work to hide what they wait for"},
    {"bank_conflicts", "accesses to shared memory wait for each other"},
    {"uncoalesced_access", "most of what each memory transaction or cache line brings is not used"},
    {"spills", "values that do not fit into registers travel through memory"},
    {"synchronisation", "threads wait for each other at barriers or in the thread runtime"},
    {"load_imbalance", "some threads work while others have nothing to do"},
    {"atomics", "updates of the same places are made one after the other"},
    {"branch_misprediction", "work is thrown away at wrongly guessed branches"},
    {"divergence", "lanes of a warp go different ways and wait for each other"},
    {"vectorisation", "arithmetic is done one element at a time where vectors could do several"},
    {"front_end", "instructions do not arrive fast enough"},
    {"unclear", "the signals contradict each other, or too few could be read"},
}};

}  // namespace

std::string_view name_of(bottleneck which) {
  return words[static_cast<std::size_t>(which)].name;
}

std::string_view meaning_of(bottleneck which) {
  return words[static_cast<std::size_t>(which)].meaning;
}

std::optional<bottleneck> bottleneck_named(std::string_view name) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i].name == name) return static_cast<bottleneck>(i);
  }
  return std::nullopt;
}

}  // namespace kernsmith::agents
