#include "backends/cuda/device_monitor.hpp"

#include <dlfcn.h>

namespace kernsmith::cuda {

namespace {

// NVIDIA Management Library reference.
constexpr int clock_of_sm = 1, clock_of_memory = 2, sensor_of_gpu = 0;
constexpr std::uint64_t hardware_slowdown = 0x8, software_thermal = 0x20, hardware_thermal = 0x40, power_brake = 0x80;

template <class F>
bool find(void* library, const char* name, F& into) {
  into = reinterpret_cast<F>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

bool device_state::slowed_down() const {
  return (throttle_reasons & (hardware_slowdown | software_thermal | hardware_thermal | power_brake)) != 0;
}

device_monitor& device_monitor::of(const std::string& uuid) {
  static device_monitor only(uuid);  // one device per process
  return only;
}

device_monitor::device_monitor(const std::string& uuid) {
  void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  status (*init)() = nullptr;
  status (*by_uuid)(const char*, void**) = nullptr;
  if (!find(library, "nvmlInit_v2", init) || !find(library, "nvmlDeviceGetHandleByUUID", by_uuid) ||
      !find(library, "nvmlDeviceGetClockInfo", clock_) || !find(library, "nvmlDeviceGetTemperature", temperature_) ||
      !find(library, "nvmlDeviceGetPowerUsage", power_) || !find(library, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons_))
    return;
  if (init() != 0) return;
  void* handle = nullptr;
  if (by_uuid(uuid.c_str(), &handle) == 0) handle_ = handle;
}

device_state device_monitor::look() const {
  device_state state;
  if (handle_ == nullptr) return state;
  unsigned long long reasons = 0;
  state.known = clock_(handle_, clock_of_sm, &state.sm_mhz) == 0 && reasons_(handle_, &reasons) == 0;
  (void)clock_(handle_, clock_of_memory, &state.memory_mhz);
  (void)temperature_(handle_, sensor_of_gpu, &state.temperature_c);
  (void)power_(handle_, &state.power_mw);
  state.throttle_reasons = reasons;
  return state;
}

}  // namespace kernsmith::cuda
