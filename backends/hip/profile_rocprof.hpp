// AMD's profilers through their command lines: which counters are asked for, how the CSV tables of rocprof and rocprofv3 are read, and
// which signals follow, by the names that Nsight Compute's have. Formats as documented: "rocprof command reference", "Using rocprofv3" (the
// tables' columns), "MI200 performance counters and metrics" (what a counter means).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/error.hpp"
#include "memory/records.hpp"

namespace kernsmith::hip {

/// The tool of this machine: rocprofv3 where it is, else rocprof. Nothing without either.
struct rocprof_tool {
  std::filesystem::path program;
  bool third = false;  ///< rocprofv3
};
[[nodiscard]] std::optional<rocprof_tool> find_rocprof();
/// What `kernsmith profile` lists where there is none.
[[nodiscard]] memory::missing_tool missing_rocprof();

/// The text of the input file: one line of counters for each run of the program that the tool makes.
[[nodiscard]] std::string rocprof_input();
/// The tool and its arguments; the command follows. The tables go to `folder`, their names begin with "kernels".
[[nodiscard]] std::vector<std::string> rocprof_command(const rocprof_tool& tool, const std::string& input, const std::string& folder);

/// One dispatch: what it was started with, and counters by name.
struct dispatch_counters {
  std::string kernel;  ///< without the " [clone .kd]" of rocprof's names
  std::int64_t number = 0;
  double ns = 0;
  std::int64_t vgprs = 0, agprs = 0, sgprs = 0, lds_bytes = 0, scratch_bytes = 0;
  std::int64_t threads = 0, threads_per_group = 0;
  std::map<std::string, double> values;
  [[nodiscard]] std::optional<double> find(const std::string& name) const;
};

/// Reads a table of either tool: rocprof has a row for each dispatch, rocprofv3 one for each dispatch and counter. Lines before the header
/// are passed over. corrupt when there is no table, or no dispatch in it.
[[nodiscard]] result<std::vector<dispatch_counters>> parse_rocprof_csv(const std::string& text);
/// Tables of several runs of the same program as one: by place and kernel. Times are the first run's. corrupt when the runs differ.
[[nodiscard]] result<std::vector<dispatch_counters>> merge_runs(const std::vector<std::vector<dispatch_counters>>& runs);

/// Why there are no counters, from what the tool printed.
[[nodiscard]] memory::missing_tool explain_rocprof_failure(std::string_view printed);

/// Signals of the dispatches of one call, as cuda::ncu_signals(): rates and shares of the longest, times and counts over all.
/// `copy_gb_per_s`: what the device's memory moves at best, measured; 0 leaves out what needs it.
[[nodiscard]] std::map<std::string, memory::signal> rocprof_signals(const std::vector<dispatch_counters>& dispatches, double copy_gb_per_s);

}  // namespace kernsmith::hip
