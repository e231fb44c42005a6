// Child processes: started from one thread that lives as long as this process, watched through pidfds, given only the descriptors named.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::harness {

/// Owner of one open descriptor.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() { reset(); }
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool open() const { return number_ >= 0; }
  void reset();

 private:
  int number_ = -1;
};

struct spawn_request {
  std::vector<std::string> arguments;    ///< absolute program first
  std::vector<std::string> environment;  ///< "NAME=value"; complete, nothing is inherited
  std::vector<std::pair<int, int>>
      descriptors;  ///< outside -> child; the child's numbers are 0, 1, 2, ... without holes; all others are closed
};

/// A running child. Reaped by wait_for(); the owner must wait for it.
struct child {
  int pid = -1;
  descriptor pidfd;  ///< readable when the child has ended
};

/// Starts a child with all signals at their defaults and unblocked. Thread-safe.
///
/// PR_SET_PDEATHSIG, on which bubblewrap's --die-with-parent rests, fires when the spawning *thread* ends, not the process. Every child is
/// therefore started by one dedicated thread that never ends.
[[nodiscard]] result<child> spawn(const spawn_request& request);

/// Waits for the end of `process` and reaps it: exit code, or -signal. Nothing when it still runs after `timeout_s`.
[[nodiscard]] std::optional<int> wait_for(const child& process, double timeout_s);

/// True when the descriptor became readable (or its other end hung up) within `timeout_s`.
[[nodiscard]] bool wait_readable(int number, double timeout_s);

/// Seconds on CLOCK_MONOTONIC.
[[nodiscard]] double monotonic_s();

/// "what: strerror(number)".
[[nodiscard]] std::string errno_text(const std::string& what, int number);

}  // namespace kernsmith::harness
