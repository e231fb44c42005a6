#include "backends/hip/profile_rocprof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>

#include "backends/harness/find_tool.hpp"

namespace kernsmith::hip {

namespace {

/// Counters that one run of the program can take together, a line each.
constexpr std::array runs = {"SQ_WAVES VALUBusy VALUUtilization", "MemUnitBusy MemUnitStalled WriteUnitStalled",
                             "L2CacheHit LDSBankConflict", "FetchSize WriteSize", "OccupancyPercent"};
constexpr double percent = 0.01, kibibyte = 1024;

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

std::optional<double> number_of(const std::string& cell) {
  if (cell.empty() || (!std::isdigit(static_cast<unsigned char>(cell.front())) && cell.front() != '-' && cell.front() != '.'))
    return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  return *end == 0 ? std::optional(value) : std::nullopt;
}

std::string plain_name(std::string name) {
  constexpr std::string_view suffixes[] = {" [clone .kd]", ".kd"};
  for (const std::string_view suffix : suffixes)
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  return name;
}

/// The cells of a row by the header's names.
class row_view {
 public:
  row_view(const std::vector<std::string>& header, const std::vector<std::string>& cells) : header_(header), cells_(cells) {}
  [[nodiscard]] std::string text(const char* column) const {
    const auto at = std::find(header_.begin(), header_.end(), column);
    return at == header_.end() ? "" : cells_[static_cast<std::size_t>(at - header_.begin())];
  }
  [[nodiscard]] double number(const char* column) const { return number_of(text(column)).value_or(0); }
  [[nodiscard]] std::int64_t whole(const char* column) const { return static_cast<std::int64_t>(number(column)); }

 private:
  const std::vector<std::string>& header_;
  const std::vector<std::string>& cells_;
};

/// Columns of rocprof's table that tell about the dispatch itself; all others are counters.
const std::set<std::string>& dispatch_columns() {
  static const std::set<std::string> names = {"Index",     "KernelName", "gpu-id",  "queue-id",  "queue-index", "pid",
                                              "tid",       "grd",        "wgr",     "lds",       "scr",         "vgpr",
                                              "arch_vgpr", "accum_vgpr", "sgpr",    "wave_size", "fbar",        "sig",
                                              "obj",       "DispatchNs", "BeginNs", "EndNs",     "CompleteNs",  "DurationNs"};
  return names;
}

void add_wide_row(const std::vector<std::string>& header, const std::vector<std::string>& cells, std::vector<dispatch_counters>& all) {
  const row_view row(header, cells);
  dispatch_counters& d = all.emplace_back();
  d.kernel = plain_name(row.text("KernelName"));
  d.number = row.whole("Index");
  d.ns = row.text("DurationNs").empty() ? row.number("EndNs") - row.number("BeginNs") : row.number("DurationNs");
  d.vgprs = row.text("arch_vgpr").empty() ? row.whole("vgpr") : row.whole("arch_vgpr");
  d.agprs = row.whole("accum_vgpr");
  d.sgprs = row.whole("sgpr");
  d.lds_bytes = row.whole("lds");
  d.scratch_bytes = row.whole("scr");
  d.threads = row.whole("grd");
  d.threads_per_group = row.whole("wgr");
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (dispatch_columns().contains(header[i])) continue;
    if (const auto value = number_of(cells[i])) d.values[header[i]] = *value;
  }
}

void add_long_row(const std::vector<std::string>& header, const std::vector<std::string>& cells, std::vector<dispatch_counters>& all) {
  const row_view row(header, cells);
  const std::int64_t number = row.whole("Dispatch_Id");
  auto known = std::find_if(all.begin(), all.end(), [&](const dispatch_counters& d) { return d.number == number; });
  if (known == all.end()) {
    known = all.insert(all.end(), dispatch_counters{});
    known->kernel = plain_name(row.text("Kernel_Name"));
    known->number = number;
    known->ns = row.number("End_Timestamp") - row.number("Start_Timestamp");
    known->vgprs = row.whole("VGPR_Count");
    known->agprs = row.whole("Accum_VGPR_Count");
    known->sgprs = row.whole("SGPR_Count");
    known->lds_bytes = row.whole("LDS_Block_Size");
    known->scratch_bytes = row.whole("Scratch_Size");
    known->threads = row.whole("Grid_Size");
    known->threads_per_group = row.whole("Workgroup_Size");
  }
  if (const auto value = number_of(row.text("Counter_Value"))) known->values[row.text("Counter_Name")] = *value;
}

using signal_map = std::map<std::string, memory::signal>;

void set(signal_map& signals, const char* name, double value, const char* unit) {
  signals[name] = {value, unit, "rocprof"};
}

/// A signal that is one counter of the longest dispatch times a factor.
struct direct_signal {
  const char* name;
  const char* counter;
  double factor;
  const char* unit;
};
constexpr std::array direct_signals = {
    direct_signal{"l2_hit_rate", "L2CacheHit", percent, "fraction"},
    direct_signal{"pipe_valu", "VALUBusy", percent, "fraction of time"},
    direct_signal{"busiest_pipe", "VALUBusy", percent, "fraction of time"},
    direct_signal{"lanes_used", "VALUUtilization", percent, "fraction of a wave"},
    direct_signal{"achieved_occupancy", "OccupancyPercent", percent, "fraction"},
    direct_signal{"memory_unit_busy", "MemUnitBusy", percent, "fraction of time"},
    direct_signal{"memory_unit_stalled", "MemUnitStalled", percent, "fraction of time"},
    direct_signal{"write_unit_stalled", "WriteUnitStalled", percent, "fraction of time"},
    direct_signal{"lds_conflict_time", "LDSBankConflict", percent, "fraction of time"},
    direct_signal{"waves_started", "SQ_WAVES", 1, "waves"},
};

std::optional<double> moved_bytes(const dispatch_counters& d) {
  const auto read = d.find("FetchSize"), written = d.find("WriteSize");
  if (!read || !written) return std::nullopt;
  return (*read + *written) * kibibyte;
}

}  // namespace

std::optional<rocprof_tool> find_rocprof() {
  for (const auto& [name, third] : {std::pair{"rocprofv3", true}, {"rocprof", false}}) {
    if (const auto found = harness::find_tool(name)) return rocprof_tool{*found, third};
    const std::filesystem::path usual = std::filesystem::path("/opt/rocm/bin") / name;
    std::error_code failed;
    if (std::filesystem::is_regular_file(usual, failed)) return rocprof_tool{usual, third};
  }
  return std::nullopt;
}

memory::missing_tool missing_rocprof() {
  return {"rocprof", "neither rocprofv3 nor rocprof is installed: no counters of AMD devices",
          "install rocprofiler-sdk or rocprofiler with ROCm"};
}

std::string rocprof_input() {
  std::string text;
  for (const char* run : runs) text += fmt::format("pmc: {}\n", run);
  return text;
}

std::vector<std::string> rocprof_command(const rocprof_tool& tool, const std::string& input, const std::string& folder) {
  if (tool.third) return {tool.program.string(), "-i", input, "--output-format", "csv", "-d", folder, "-o", "kernels", "--"};
  return {tool.program.string(), "-i", input, "--timestamp", "on", "-o", folder + "/kernels.csv"};
}

std::optional<double> dispatch_counters::find(const std::string& name) const {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

result<std::vector<dispatch_counters>> parse_rocprof_csv(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> header;
  bool wide = false;
  std::vector<dispatch_counters> all;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = cells_of(line);
    const auto has = [&](const char* name) { return std::find(cells.begin(), cells.end(), name) != cells.end(); };
    if (header.empty()) {
      wide = has("KernelName");
      if (wide || (has("Dispatch_Id") && has("Counter_Name"))) header = cells;
      continue;
    }
    if (cells.size() != header.size()) continue;  // a message between the rows
    if (wide)
      add_wide_row(header, cells, all);
    else
      add_long_row(header, cells, all);
  }
  if (all.empty()) return fail(fault::corrupt, "the profiler listed no kernel");
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return all;
}

result<std::vector<dispatch_counters>> merge_runs(const std::vector<std::vector<dispatch_counters>>& tables) {
  if (tables.empty()) return fail(fault::corrupt, "the profiler wrote no table");
  std::vector<dispatch_counters> merged = tables.front();
  for (const auto& table : tables) {
    if (table.size() != merged.size()) return fail(fault::corrupt, "the profiled runs launched different numbers of kernels");
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table[i].kernel != merged[i].kernel) return fail(fault::corrupt, "the profiled runs launched different kernels");
      merged[i].values.insert(table[i].values.begin(), table[i].values.end());
    }
  }
  return merged;
}

memory::missing_tool explain_rocprof_failure(std::string_view printed) {
  std::istringstream lines{std::string(printed)};
  for (std::string line; std::getline(lines, line);) {
    if (line.find("/dev/kfd") != std::string::npos || line.find("No GPU") != std::string::npos ||
        line.find("no ROCm-capable device") != std::string::npos)
      return {"rocprof", line, "run on a machine with an AMD device, as a user of the groups 'video' and 'render'"};
    if (line.find("rror") != std::string::npos || line.find("not found") != std::string::npos) return {"rocprof", line, ""};
  }
  return {"rocprof", "it gave no counters", ""};
}

std::map<std::string, memory::signal> rocprof_signals(const std::vector<dispatch_counters>& dispatches, double copy_gb_per_s) {
  signal_map signals;
  if (dispatches.empty()) return signals;
  double all_ns = 0, bytes = 0;
  bool counted = true;
  for (const dispatch_counters& d : dispatches) {
    all_ns += d.ns;
    const auto moved = moved_bytes(d);
    counted = counted && moved.has_value();
    bytes += moved.value_or(0);
  }
  const dispatch_counters& longest =
      *std::max_element(dispatches.begin(), dispatches.end(), [](const auto& a, const auto& b) { return a.ns < b.ns; });
  set(signals, "kernels", static_cast<double>(dispatches.size()), "per call");
  set(signals, "kernels_ns", all_ns, "ns per call");
  set(signals, "longest_kernel_ns", longest.ns, "ns");
  if (counted) set(signals, "dram_bytes", bytes, "B per call");
  for (const direct_signal& d : direct_signals) {
    if (const auto value = longest.find(d.counter)) set(signals, d.name, *value * d.factor, d.unit);
  }
  if (const auto moved = moved_bytes(longest); moved && copy_gb_per_s > 0 && longest.ns > 0) {  // bytes per ns are GB/s
    set(signals, "dram_throughput", *moved / longest.ns / copy_gb_per_s, "fraction of a copy's");
    set(signals, "busiest_memory_level", *moved / longest.ns / copy_gb_per_s, "fraction of a copy's");
  }
  set(signals, "registers", static_cast<double>(longest.vgprs + longest.agprs), "vector registers per thread");
  set(signals, "scratch_bytes", static_cast<double>(longest.scratch_bytes), "B per thread");
  set(signals, "lds_bytes", static_cast<double>(longest.lds_bytes), "B per work-group");
  set(signals, "threads_per_block", static_cast<double>(longest.threads_per_group), "threads");
  if (longest.threads_per_group > 0)
    set(signals, "blocks", static_cast<double>(longest.threads) / static_cast<double>(longest.threads_per_group), "work-groups");
  return signals;
}

}  // namespace kernsmith::hip
