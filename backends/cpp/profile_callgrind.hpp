// Valgrind's callgrind: every instruction of one call counted, caches and branches simulated. No counters needed, 50 to 100 times slower.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::cpp {

/// One level of a simulated cache.
struct cache_geometry {
  std::int64_t bytes = 0, ways = 0, line_bytes = 64;
};

/// First-level caches of this machine, and its second-level cache as what stands behind them: "beyond it" is what other cores share.
struct simulated_caches {
  cache_geometry instruction, data, second;
};

/// From the system's description of cpu0; common sizes where it is silent (`assumed`).
struct cache_description {
  simulated_caches caches;
  bool assumed = false;
};
[[nodiscard]] cache_description describe_caches();
/// callgrind wants a number of sets that is a power of two: the largest such cache that is not larger.
[[nodiscard]] cache_geometry simulatable(cache_geometry cache);

/// valgrind and its arguments; the command follows. Writes to `output`.
[[nodiscard]] std::vector<std::string> callgrind_command(const std::filesystem::path& valgrind, const simulated_caches& caches,
                                                         const std::string& counted_function, const std::string& output);

/// What callgrind counts, of some instructions.
struct event_counts {
  double instructions = 0, reads = 0, writes = 0;
  double instruction_misses = 0, read_misses = 0, write_misses = 0;  ///< first level
  double deep_read_misses = 0, deep_write_misses = 0;                ///< second level
  double branches = 0, mispredicted = 0;                             ///< conditional and indirect
  event_counts& operator+=(const event_counts& other);
};

struct callgrind_profile {
  event_counts total;
  std::map<std::string, event_counts> objects;                          ///< own counts by object file
  std::map<std::string, std::map<std::uint64_t, double>> instructions;  ///< object -> address in it -> executions
  std::map<std::string, double> calls;                                  ///< called function -> number of calls
};

/// Reads an output file's text (uncompressed positions, instruction addresses). corrupt when it is none or counted nothing.
[[nodiscard]] result<callgrind_profile> parse_callgrind(const std::string& text);

}  // namespace kernsmith::cpp
