// Who may use an accelerator: one process of this machine at a time, whichever session, profiler or check it is of.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>

#include "backends/harness/process.hpp"
#include "config/error.hpp"

namespace kernsmith::harness {

struct lease_terms {
  std::filesystem::path folder;             ///< of the lock files, shared by all who share devices; empty: $KERNSMITH_LEASES, else /tmp
  const std::atomic<bool>* stop = nullptr;  ///< set: gives up waiting, with an error of kind interrupted
  double patience_s = 1800;                 ///< waits no longer than this
};

/// A hold of one device, from acquire() until it goes out of scope, or its process ends in whatever way. In one process two holds exclude
/// each other, too. Movable.
///
/// Locks are open file description locks on two bytes of one file for each device: the device itself, and the place at the head of the
/// queue. Whoever waits keeps that place, so that a holder who gives the device back and asks again at once does not overtake those who
/// waited.
class device_lease {
 public:
  /// `device` names it on this machine: letters, digits, '-' ("GPU-2a3e..."). infrastructure, naming the process that has it, when patience
  /// runs out; missing_here when there can be no lock file.
  [[nodiscard]] static result<device_lease> acquire(const std::string& device, const lease_terms& terms = {});

 private:
  descriptor file_;  ///< closing it gives the device back: nobody else shares its description
};

}  // namespace kernsmith::harness
