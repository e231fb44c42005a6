// Nsight Compute through its command line: which sections are collected, how its CSV is read, and which signals follow from its counters.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.hpp"
#include "memory/records.hpp"

namespace kernsmith::cuda {

/// Kernels of one call that are profiled; each is replayed some forty times, once for each set of counters.
inline constexpr int most_profiled_kernels = 16;

/// ncu and its arguments; the command follows. Clocks are left as they are; only what runs between cuProfilerStart and cuProfilerStop is
/// looked at, the first `kernels` of it. The CSV goes to `log`.
[[nodiscard]] std::vector<std::string> ncu_command(const std::filesystem::path& ncu, int kernels, const std::string& log);

/// One kernel launch: counters by name in base units (ns, bytes, percent).
struct kernel_counters {
  std::string kernel;  ///< name with its parameters' types
  std::map<std::string, double> values;
  [[nodiscard]] std::optional<double> find(const std::string& name) const;
};

/// Reads `--csv --page raw --print-units base`; lines before the header (ncu's own messages, what the program printed) are passed over.
/// corrupt when there is no table, or no kernel in it.
[[nodiscard]] result<std::vector<kernel_counters>> parse_ncu_csv(const std::string& text);

/// Why there are no counters, from what ncu printed: no permission (with the remedy), no kernels, another error in its own words.
[[nodiscard]] memory::missing_tool explain_ncu_failure(std::string_view printed);

/// Signals of the kernels of one call: rates and shares of the one that takes longest, times and counts over all.
[[nodiscard]] std::map<std::string, memory::signal> ncu_signals(const std::vector<kernel_counters>& kernels);
/// The index of the kernel that takes longest.
[[nodiscard]] std::size_t longest_kernel(const std::vector<kernel_counters>& kernels);

}  // namespace kernsmith::cuda
