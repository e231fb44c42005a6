#include "agents/synthesis/machine_model.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace kernsmith::agents {
namespace {

/// Size of the data or unified cache of `level` of the first CPU, or 0. The kernel writes "32K", "1024K", "32M".
std::int64_t cache_from_sysfs(int level) {
  constexpr int max_indices = 8;
  for (int index = 0; index < max_indices; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
    int found_level = 0;
    std::string type;
    std::int64_t size = 0;
    char unit = 0;
    if (!(level_file >> found_level) || !(type_file >> type) || !(size_file >> size)) continue;
    size_file >> unit;
    if (found_level == level && type != "Instruction") return unit == 'M' ? size << 20 : unit == 'K' ? size << 10 : size;
  }
  return 0;
}

std::int64_t cache_bytes(int level, int sysconf_name, std::int64_t otherwise) {
  if (const std::int64_t bytes = cache_from_sysfs(level); bytes > 0) return bytes;
  const long bytes = sysconf(sysconf_name);
  return bytes > 0 ? bytes : otherwise;
}

}  // namespace

machine_model describe_host(int cores) {
  machine_model machine;
  machine.cores = std::max(1, cores);
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    machine.isa = "x86-64-v4";
    machine.vector_bytes = 64;
    machine.vector_registers = 32;
    machine.avx512_bf16 = __builtin_cpu_supports("avx512bf16") != 0;
    machine.avx512_vnni = __builtin_cpu_supports("avx512vnni") != 0;
  }
  machine.l1_bytes = cache_bytes(1, _SC_LEVEL1_DCACHE_SIZE, machine.l1_bytes);
  machine.l2_bytes = cache_bytes(2, _SC_LEVEL2_CACHE_SIZE, machine.l2_bytes);
  machine.l3_bytes = cache_bytes(3, _SC_LEVEL3_CACHE_SIZE, machine.l3_bytes);
  return machine;
}

}  // namespace kernsmith::agents
