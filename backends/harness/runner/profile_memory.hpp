// Where the tensors of a profiled kernel lie and how its calls are waited for: on the host, or on a CUDA device.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "backends/harness/kernsmith_kernel.h"

namespace kernsmith::runner {

/// One per process. What it can't do ends the process with a message.
class profile_memory {
 public:
  virtual ~profile_memory() = default;
  /// `bytes` with the contents of host memory (null: zeroes), as the kernel will see them.
  [[nodiscard]] virtual void* place(const void* host, std::size_t bytes) = 0;
  /// Sets stream and device of a launch.
  virtual void prepare(ks_launch& context) { (void)context; }
  /// Around the counted calls; a device's profiler watches in between.
  virtual void begin() {}
  /// Returns when all calls are done. The device's own time for them; 0 on the host.
  [[nodiscard]] virtual double end_ns() { return 0; }
  /// How many calls are made before they are waited for.
  [[nodiscard]] virtual std::size_t calls_at_once() const { return 1; }
};

/// Memory of this process: `place` gives back what it is given.
[[nodiscard]] std::unique_ptr<profile_memory> profile_on_host();
/// `driver`: the driver's library. Makes the device's primary context current.
[[nodiscard]] std::unique_ptr<profile_memory> profile_on_device(const std::string& driver, int ordinal);

}  // namespace kernsmith::runner
