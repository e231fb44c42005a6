#include "backends/cuda/profile_ncu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>

namespace kernsmith::cuda {

namespace {

constexpr std::array sections = {"SpeedOfLight",
                                 "MemoryWorkloadAnalysis",
                                 "MemoryWorkloadAnalysis_Tables",
                                 "Occupancy",
                                 "LaunchStats",
                                 "ComputeWorkloadAnalysis",
                                 "WarpStateStats",
                                 "SchedulerStats",
                                 "InstructionStats",
                                 "SourceCounters"};

/// One CSV line; quotes are doubled inside of quoted cells.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r') {
      cells.back() += c;
    }
  }
  return cells;
}

/// "1,234.5" -> 1234.5; nothing for what is no number ("nan", names).
std::optional<double> number_of(std::string cell) {
  std::erase(cell, ',');
  if (cell.empty() || (!std::isdigit(static_cast<unsigned char>(cell.front())) && cell.front() != '-' && cell.front() != '.'))
    return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  return *end == 0 ? std::optional(value) : std::nullopt;
}

/// A signal that is one counter times a factor.
struct direct_signal {
  const char* name;
  const char* counter;
  double factor;
  const char* unit;
};

constexpr double percent = 0.01;
constexpr double sector_bytes = 32;
/// Of all accesses to global memory, for a kind of them to be worth a word.
constexpr double least_access_share = 0.1;

constexpr std::array direct_signals = {
    direct_signal{"dram_throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", percent, "fraction of peak"},
    direct_signal{"l2_throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed", percent, "fraction of peak"},
    direct_signal{"l1_throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active", percent, "fraction of peak"},
    direct_signal{"sm_throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed", percent, "fraction of peak"},
    direct_signal{"l1_hit_rate", "l1tex__t_sector_hit_rate.pct", percent, "fraction"},
    direct_signal{"l2_hit_rate", "lts__t_sector_hit_rate.pct", percent, "fraction"},
    direct_signal{"shared_pipe_share", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.pct_of_peak_sustained_elapsed", percent,
                  "fraction of peak"},
    direct_signal{"atomic_unit_busiest", "lts__d_atomic_input_cycles_active.max.pct_of_peak_sustained_elapsed", percent,
                  "fraction of peak, busiest slice"},
    direct_signal{"achieved_occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", percent, "fraction"},
    direct_signal{"theoretical_occupancy", "sm__maximum_warps_per_active_cycle_pct", percent, "fraction"},
    direct_signal{"issue_active", "smsp__issue_active.avg.per_cycle_active", 1, "fraction of cycles"},
    direct_signal{"eligible_warps", "smsp__warps_eligible.avg.per_cycle_active", 1, "warps per scheduler"},
    direct_signal{"resident_warps", "smsp__warps_active.avg.per_cycle_active", 1, "warps per scheduler"},
    direct_signal{"lanes_used", "smsp__thread_inst_executed_per_inst_executed.ratio", 1.0 / 32, "fraction of a warp"},
    direct_signal{"registers", "launch__registers_per_thread", 1, "per thread"},
    direct_signal{"waves", "launch__waves_per_multiprocessor", 1, "waves of blocks"},
    direct_signal{"blocks", "launch__grid_size", 1, "blocks"},
    direct_signal{"threads_per_block", "launch__block_size", 1, "threads"},
};

struct pipe {
  const char* name;
  const char* counter;
};
/// The execution units; what the busiest of them does is the arithmetic's share.
constexpr std::array pipes = {
    pipe{"fma", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active"},
    pipe{"alu", "sm__pipe_alu_cycles_active.avg.pct_of_peak_sustained_active"},
    pipe{"fp64", "sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_active"},
    pipe{"tensor", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"},
    pipe{"xu", "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active"},
};

/// What warps wait for: the word in the counter's name -> the signal's.
constexpr std::array<std::pair<const char*, const char*>, 11> stalls{{{"long_scoreboard", "stall_global_memory"},
                                                                      {"short_scoreboard", "stall_shared_memory"},
                                                                      {"mio_throttle", "stall_memory_queue"},
                                                                      {"lg_throttle", "stall_global_queue"},
                                                                      {"barrier", "stall_barrier"},
                                                                      {"membar", "stall_fence"},
                                                                      {"math_pipe_throttle", "stall_math_pipe"},
                                                                      {"wait", "stall_fixed_latency"},
                                                                      {"no_instruction", "stall_no_instruction"},
                                                                      {"drain", "stall_drain"},
                                                                      {"branch_resolving", "stall_branch"}}};

using signal_map = std::map<std::string, memory::signal>;

void set(signal_map& signals, const char* name, double value, const char* unit) {
  signals[name] = {value, unit, "ncu"};
}

double value_or(const kernel_counters& k, const char* name, double otherwise) {
  return k.find(name).value_or(otherwise);
}

void add_stalls(const kernel_counters& k, signal_map& signals) {
  const auto latency = k.find("smsp__average_warp_latency_per_inst_issued.ratio");
  if (!latency || *latency <= 0) return;
  for (const auto& [word, name] : stalls) {
    if (const auto cycles = k.find(fmt::format("smsp__average_warps_issue_stalled_{}_per_issue_active.ratio", word)))
      set(signals, name, *cycles / *latency, "fraction of a warp's time");
  }
}

void add_access(const kernel_counters& k, signal_map& signals) {
  const double loads = value_or(k, "smsp__sass_inst_executed_op_global_ld.sum", 0),
               stores = value_or(k, "smsp__sass_inst_executed_op_global_st.sum", 0);
  const auto load_bytes = k.find("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio"),
             store_bytes = k.find("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.ratio");
  // Accesses of a kind that is rare say nothing about the bytes that are moved, however few of each sector they use.
  const auto matters = [&](double accesses) { return accesses > least_access_share * (loads + stores); };
  double worst = 1;
  if (load_bytes && loads > 0) {
    set(signals, "load_sector_use", *load_bytes / sector_bytes, "fraction of fetched bytes");
    if (matters(loads)) worst = std::min(worst, *load_bytes / sector_bytes);
  }
  if (store_bytes && stores > 0) {
    set(signals, "store_sector_use", *store_bytes / sector_bytes, "fraction of written bytes");
    if (matters(stores)) worst = std::min(worst, *store_bytes / sector_bytes);
  }
  if ((load_bytes && loads > 0) || (store_bytes && stores > 0)) set(signals, "worst_sector_use", worst, "fraction of moved bytes");
  const double instructions = value_or(k, "smsp__inst_executed.sum", 0);
  if (instructions > 0) {
    set(signals, "global_access_share", (loads + stores) / instructions, "fraction of instructions");
    set(signals, "spill_share",
        (value_or(k, "smsp__sass_inst_executed_op_local_ld.sum", 0) + value_or(k, "smsp__sass_inst_executed_op_local_st.sum", 0)) /
            instructions,
        "fraction of instructions");
  }
  const double waves = value_or(k, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", 0);
  if (waves > 0)
    set(signals, "bank_conflict_share", std::min(1.0, value_or(k, "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 0) / waves),
        "fraction of shared-memory passes");
}

void add_units(const kernel_counters& k, signal_map& signals) {
  double level = -1;
  for (const char* name : {"dram_throughput", "l2_throughput", "l1_throughput"}) {
    if (const auto found = signals.find(name); found != signals.end()) level = std::max(level, found->second.value);
  }
  if (level >= 0) set(signals, "busiest_memory_level", level, "fraction of peak");
  double most = -1;
  for (const pipe& p : pipes) {
    const auto busy = k.find(p.counter);
    if (!busy) continue;
    set(signals, fmt::format("pipe_{}", p.name).c_str(), *busy * percent, "fraction of peak while active");
    most = std::max(most, *busy * percent);
  }
  if (most >= 0) set(signals, "busiest_pipe", most, "fraction of peak while active");
  const auto mean = k.find("sm__cycles_active.avg"), largest = k.find("sm__cycles_active.max");
  if (mean && largest && *largest > 0) set(signals, "multiprocessor_balance", *mean / *largest, "mean over longest");
}

/// Blocks that fit on one multiprocessor by each resource; the scarcest limits occupancy.
void add_occupancy_limit(const kernel_counters& k, signal_map& signals) {
  for (const auto& [name, counter] : {std::pair{"blocks_by_registers", "launch__occupancy_limit_registers"},
                                      {"blocks_by_shared_memory", "launch__occupancy_limit_shared_mem"},
                                      {"blocks_by_warps", "launch__occupancy_limit_warps"},
                                      {"blocks_by_slots", "launch__occupancy_limit_blocks"}}) {
    if (const auto blocks = k.find(counter)) set(signals, name, *blocks, "blocks per multiprocessor");
  }
}

}  // namespace

std::vector<std::string> ncu_command(const std::filesystem::path& ncu, int kernels, const std::string& log) {
  std::vector<std::string> command = {
      ncu.string(), "--clock-control", "none", "--profile-from-start", "off",  "--launch-count", std::to_string(kernels),
      "--csv",      "--page",          "raw",  "--print-units",        "base", "--log-file",     log};
  for (const char* section : sections) {
    command.emplace_back("--section");
    command.emplace_back(section);
  }
  return command;
}

std::optional<double> kernel_counters::find(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

result<std::vector<kernel_counters>> parse_ncu_csv(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> header;
  std::size_t name_column = 0;
  std::vector<kernel_counters> kernels;
  bool units = false;
  for (std::string line; std::getline(lines, line);) {
    if (header.empty()) {
      if (!line.starts_with("\"ID\",")) continue;
      header = cells_of(line);
      name_column = static_cast<std::size_t>(std::find(header.begin(), header.end(), "Kernel Name") - header.begin());
      continue;
    }
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != header.size()) continue;  // a message of ncu's between the rows
    if (!std::exchange(units, true)) continue;    // the second row names the units: --print-units base makes them known
    kernel_counters& k = kernels.emplace_back();
    if (name_column < cells.size()) k.kernel = cells[name_column];
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (header[i].find("__") == std::string::npos) continue;
      if (const auto value = number_of(cells[i])) k.values[header[i]] = *value;
    }
  }
  if (kernels.empty()) return fail(fault::corrupt, "ncu listed no kernel");
  return kernels;
}

memory::missing_tool explain_ncu_failure(std::string_view printed) {
  if (printed.find("ERR_NVGPUCTRPERM") != std::string_view::npos || printed.find("permission to access") != std::string_view::npos) {
    return {"ncu", "the driver lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM)",
            "as root: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > /etc/modprobe.d/nvidia-profiling.conf, then reload the "
            "driver; in a container, start it with --cap-add=SYS_ADMIN"};
  }
  if (printed.find("No kernels were profiled") != std::string_view::npos) return {"ncu", "the call launched no kernel", ""};
  std::istringstream lines{std::string(printed)};
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find("==ERROR== "); at != std::string::npos) return {"ncu", line.substr(at + 10), ""};
  }
  return {"ncu", "it gave no counters", ""};
}

std::size_t longest_kernel(const std::vector<kernel_counters>& kernels) {
  const auto time = [](const kernel_counters& k) { return value_or(k, "gpu__time_duration.sum", 0); };
  return static_cast<std::size_t>(
      std::max_element(kernels.begin(), kernels.end(), [&](const auto& a, const auto& b) { return time(a) < time(b); }) - kernels.begin());
}

std::map<std::string, memory::signal> ncu_signals(const std::vector<kernel_counters>& kernels) {
  signal_map signals;
  if (kernels.empty()) return signals;
  double all_ns = 0, bytes = 0;
  for (const kernel_counters& k : kernels) {
    all_ns += value_or(k, "gpu__time_duration.sum", 0);
    bytes += value_or(k, "dram__bytes_read.sum", 0) + value_or(k, "dram__bytes_write.sum", 0);
  }
  const kernel_counters& longest = kernels[longest_kernel(kernels)];
  set(signals, "kernels", static_cast<double>(kernels.size()), "per call");
  set(signals, "kernels_ns", all_ns, "ns per call");
  set(signals, "longest_kernel_ns", value_or(longest, "gpu__time_duration.sum", 0), "ns");
  set(signals, "dram_bytes", bytes, "B per call");
  for (const direct_signal& d : direct_signals) {
    if (const auto value = longest.find(d.counter)) set(signals, d.name, *value * d.factor, d.unit);
  }
  add_units(longest, signals);
  add_stalls(longest, signals);
  add_access(longest, signals);
  add_occupancy_limit(longest, signals);
  return signals;
}

}  // namespace kernsmith::cuda
