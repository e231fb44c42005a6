#include "backends/cpp/processor_state.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace kernsmith::cpp {

namespace fs = std::filesystem;

namespace {

constexpr double khz_per_mhz = 1e3, millidegrees = 1e3;

std::optional<double> number_in(const fs::path& file) {
  std::ifstream in(file);
  double value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

double hottest_zone(const fs::path& system) {
  double hottest = 0;
  std::error_code failed;
  for (const auto& zone : fs::directory_iterator(system / "class/thermal", failed)) {
    if (zone.path().filename().string().rfind("thermal_zone", 0) != 0) continue;
    if (const auto value = number_in(zone.path() / "temp")) hottest = std::max(hottest, *value / millidegrees);
  }
  return hottest;
}

}  // namespace

processor_state read_processor_state(const std::vector<int>& cores, const fs::path& system) {
  processor_state state;
  double sum_mhz = 0;
  int seen = 0;
  for (const int core : cores) {
    const fs::path folder = system / "devices/system/cpu" / ("cpu" + std::to_string(core));
    if (const auto khz = number_in(folder / "cpufreq/scaling_cur_freq")) {
      sum_mhz += *khz / khz_per_mhz;
      ++seen;
    }
    if (const auto count = number_in(folder / "thermal_throttle/core_throttle_count"))
      state.throttlings += static_cast<std::int64_t>(*count);
  }
  if (seen > 0) state.mhz = sum_mhz / seen;
  state.celsius = hottest_zone(system);
  return state;
}

}  // namespace kernsmith::cpp
