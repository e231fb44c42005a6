// How the processor is running: clocks, temperature, throttling. Read around each timing block and kept with its samples, so that a
// surprising time can be told from a slow machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace kernsmith::cpp {

/// 0 where the system shows nothing (virtual machines mostly don't).
struct processor_state {
  double mhz = 0;                ///< mean over the cores asked for, as the kernel reports it
  double celsius = 0;            ///< the hottest zone
  std::int64_t throttlings = 0;  ///< of those cores since boot
  [[nodiscard]] bool visible() const { return mhz > 0 || celsius > 0; }
};

/// `system` stands for /sys; tests bring their own.
[[nodiscard]] processor_state read_processor_state(const std::vector<int>& cores, const std::filesystem::path& system = "/sys");

}  // namespace kernsmith::cpp
