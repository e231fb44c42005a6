// Clocks, temperature and what holds the clocks down, as the vendor's management library sees them from outside of any kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace kernsmith::cuda {

struct device_state {
  bool known = false;
  unsigned sm_mhz = 0, memory_mhz = 0, temperature_c = 0, power_mw = 0;
  std::uint64_t throttle_reasons = 0;
  /// Heat or power brake: the device runs slower than its clock policy asks for.
  [[nodiscard]] bool slowed_down() const;
};

class device_monitor {
 public:
  /// For the device of a UUID ("GPU-..."). Without the library a monitor that knows nothing.
  [[nodiscard]] static device_monitor& of(const std::string& uuid);
  [[nodiscard]] device_state look() const;

 private:
  explicit device_monitor(const std::string& uuid);
  using status = int;
  void* handle_ = nullptr;
  status (*clock_)(void*, int, unsigned*) = nullptr;
  status (*temperature_)(void*, int, unsigned*) = nullptr;
  status (*power_)(void*, unsigned*) = nullptr;
  status (*reasons_)(void*, unsigned long long*) = nullptr;
};

}  // namespace kernsmith::cuda
