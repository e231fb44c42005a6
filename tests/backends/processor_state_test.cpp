#include "backends/cpp/processor_state.hpp"

#include <doctest/doctest.h>

#include <fstream>

using namespace kernsmith::cpp;

namespace {

void put(const std::filesystem::path& file, const char* text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text << "\n";
}

}  // namespace

TEST_CASE("clocks are a mean over the cores asked for, the temperature that of the hottest zone") {
  const std::filesystem::path system = std::filesystem::temp_directory_path() / "kernsmith-processor-state";
  std::filesystem::remove_all(system);
  put(system / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000");
  put(system / "devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000");
  put(system / "devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", "800000");
  put(system / "devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3");
  put(system / "devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4");
  put(system / "class/thermal/thermal_zone0/temp", "41000");
  put(system / "class/thermal/thermal_zone1/temp", "67500");
  put(system / "class/thermal/cooling_device0/temp", "99000");
  const processor_state state = read_processor_state({0, 1}, system);
  CHECK(state.mhz == doctest::Approx(2500));
  CHECK(state.celsius == doctest::Approx(67.5));
  CHECK(state.throttlings == 7);
  CHECK(state.visible());
  std::filesystem::remove_all(system);
}

TEST_CASE("what the system does not show is not made up") {
  const processor_state state = read_processor_state({0, 1}, "/nowhere");
  CHECK(state.mhz == 0);
  CHECK(state.celsius == 0);
  CHECK_FALSE(state.visible());
}
