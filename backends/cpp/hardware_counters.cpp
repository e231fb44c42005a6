#include "backends/cpp/hardware_counters.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kernsmith::cpp {

counter_access probe_hardware_counters() {
  perf_event_attr wanted{};
  wanted.type = PERF_TYPE_HARDWARE;
  wanted.size = sizeof wanted;
  wanted.config = PERF_COUNT_HW_CPU_CYCLES;
  wanted.exclude_kernel = 1;
  wanted.exclude_hv = 1;
  const long counter = ::syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0);
  if (counter >= 0) {
    ::close(static_cast<int>(counter));
    return {true, "hardware counters are readable here, but profiles don't use them yet", ""};
  }
  if (errno == EACCES || errno == EPERM)
    return {false, "hardware counters may not be read by this user", "as root: sysctl -w kernel.perf_event_paranoid=1"};
  if (errno == ENOENT || errno == ENODEV || errno == EOPNOTSUPP)
    return {false, "this host shows no hardware counters (a virtual machine without them)", ""};
  return {false, std::string("hardware counters: ") + std::strerror(errno), ""};
}

}  // namespace kernsmith::cpp
