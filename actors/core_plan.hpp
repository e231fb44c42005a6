// Which cores measure and which build, and the gate that keeps builds away from measurements where they have to share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace kernsmith::actors {

struct core_plan {
  std::vector<std::vector<int>> slots;  ///< measured cores of each evaluator slot; disjoint
  std::vector<int> build;               ///< cores for compilers and our own work
  bool shared = false;                  ///< build cores are measured cores: builds and measurements exclude each other
  std::size_t builders = 1;             ///< compilers at once
};

/// Splits the `allowed` CPU ids. With fewer than `min_cores_to_reserve` cores all of them measure and builds wait for measurements; with
/// more, one core in eight (at least one) is kept for builds. `threads` > 0 limits the cores of each slot.
[[nodiscard]] core_plan plan_cores(const std::vector<int>& allowed, std::size_t slots, std::size_t threads);
/// The same where kernels run on a device of their own: a slot needs cores for its host processes and for what is computed here on small
/// shapes, up to half of all; the rest builds.
[[nodiscard]] core_plan plan_device_cores(const std::vector<int>& allowed, std::size_t slots, std::size_t threads);
inline constexpr std::size_t most_host_cores = 8;
inline constexpr std::size_t min_cores_to_reserve = 4;

/// The CPU ids this process may run on.
[[nodiscard]] std::vector<int> allowed_cores();

/// Many builds or one measurement at a time, measurements first. Thread-safe. Does nothing when cores aren't shared.
class core_gate {
 public:
  explicit core_gate(bool shared) : shared_(shared) {}

  class hold {
   public:
    hold(core_gate& gate, bool exclusive);
    ~hold();
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;

   private:
    core_gate& gate_;
    bool exclusive_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t builds_ = 0, measurements_waiting_ = 0;
  bool measuring_ = false;
  bool shared_;
};

}  // namespace kernsmith::actors
