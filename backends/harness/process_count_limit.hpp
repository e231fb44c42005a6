// A limit on the number of processes of one tree that binds root, too.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>

namespace kernsmith::harness {

/// A control group of the pids controller with one tree in it. RLIMIT_NPROC does not bind processes that are the machine's root outside
/// their user namespace, and a fork bomb can starve the thread that counts; the kernel's own count can't be starved.
class process_count_limit {
 public:
  /// Puts `pid` and all that it will start into a group of at most `max_processes` tasks. Null where the controller is not ours to use
  /// (a plain user, a container): RLIMIT_NPROC and counting stand alone there.
  [[nodiscard]] static std::unique_ptr<process_count_limit> impose(int pid, int max_processes);
  ~process_count_limit();
  process_count_limit(const process_count_limit&) = delete;
  process_count_limit& operator=(const process_count_limit&) = delete;

 private:
  explicit process_count_limit(std::filesystem::path group) : group_(std::move(group)) {}
  std::filesystem::path group_;
};

}  // namespace kernsmith::harness
