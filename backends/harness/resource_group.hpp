// Limits on one process tree that the kernel itself holds, where control groups may be made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace kernsmith::harness {

struct group_limits {
  int max_processes = 256;  ///< threads count, too
  /// Where the watch that polls stops the tree; the kernel does so further up, so that what a limit means is the same with and without it.
  std::int64_t memory_limit_bytes = std::int64_t{8} << 30;
  std::vector<int> cores;  ///< empty: all. An affinity is a wish that its process may change; a cpuset is not
};

/// Control groups of the pids, memory and cpuset controllers with one tree in them (version 1 or 2). RLIMIT_NPROC does not bind processes
/// that are the machine's root outside their user namespace; a fork bomb can starve the thread that counts, and memory can be taken faster
/// than anybody looks. The kernel's own account can't be starved.
class resource_group {
 public:
  /// Puts `pid` and all that it will start into groups of these limits. What controllers are not ours to use (a plain user, a container)
  /// is left out: rlimits and polling stand alone there.
  [[nodiscard]] static std::unique_ptr<resource_group> impose(int pid, const group_limits& limits);
  /// Removes the groups; the tree must be dead.
  ~resource_group();
  resource_group(const resource_group&) = delete;
  resource_group& operator=(const resource_group&) = delete;

  [[nodiscard]] bool counts_processes() const { return counts_processes_; }
  [[nodiscard]] bool bounds_memory() const { return bounds_memory_; }
  [[nodiscard]] bool binds_cores() const { return binds_cores_; }

 private:
  resource_group() = default;
  std::vector<std::filesystem::path> groups_;
  bool counts_processes_ = false, bounds_memory_ = false, binds_cores_ = false;
};

}  // namespace kernsmith::harness
