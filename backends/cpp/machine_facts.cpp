#include "backends/cpp/machine_facts.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace kernsmith::cpp {

namespace {

std::string first_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Value of `key` in a file of "key : value" or "key=value" lines.
std::string value_in(const std::string& file, const std::string& key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    std::size_t begin = line.find_first_not_of(" \t\"", at + 1), end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
  }
  return "";
}

std::int64_t largest_cache_bytes() {
  std::int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const std::string size = first_line(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    if (size.empty()) break;
    std::int64_t bytes = std::atoll(size.c_str());
    if (size.back() == 'K') bytes <<= 10;
    if (size.back() == 'M') bytes <<= 20;
    largest = std::max(largest, bytes);
  }
  return largest;
}

}  // namespace

std::string instruction_level() {
#if defined(__x86_64__)
  // Features that stand for their levels: not every compiler knows the levels by name.
  const bool v2 = __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("popcnt") != 0;
  const bool v3 = v2 && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("fma") != 0;
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
                  __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
                  __builtin_cpu_supports("avx512vl") != 0;
  if (v4) return "x86-64-v4";
  if (v3) return "x86-64-v3";
  if (v2) return "x86-64-v2";
  return "x86-64";
#else
  utsname names{};
  ::uname(&names);
  return names.machine;
#endif
}

machine_facts read_machine_facts() {
  machine_facts facts;
  utsname names{};
  if (::uname(&names) == 0) facts.kernel = fmt::format("{} {}", names.sysname, names.release);
  facts.model = value_in("/proc/cpuinfo", "model name", ':');
  if (facts.model.empty()) facts.model = names.machine;
  facts.isa = instruction_level();
  facts.os = value_in("/etc/os-release", "PRETTY_NAME", '=');
  facts.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (facts.governor.empty()) facts.governor = "unknown";
  facts.last_level_cache_bytes = largest_cache_bytes();
  return facts;
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cores.push_back(cpu);
  }
  return cores;
}

}  // namespace kernsmith::cpp
