// Who may use the cores and the device of one slot: one at a time, in the order in which they came.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace kernsmith::actors {

/// Shared by a slot's evaluator and its profiler, so that no profile runs beside a timing. Thread-safe.
class slot_lease {
 public:
  /// Waits for its turn; gives the slot back when it goes out of scope.
  class hold {
   public:
    explicit hold(slot_lease& lease);
    ~hold();
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;

   private:
    slot_lease& lease_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable turned_;
  std::uint64_t next_ticket_ = 0, now_serving_ = 0;
};

}  // namespace kernsmith::actors
