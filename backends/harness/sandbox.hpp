// Running a command inside bubblewrap + seccomp, for builds and for runners. Fails closed: no sandbox, no run.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "config/error.hpp"

namespace kernsmith::harness {

struct sandbox_spec {
  std::vector<std::string> command;              ///< absolute program and arguments, as seen inside
  std::vector<std::filesystem::path> read_only;  ///< bound at the same path; /usr, /lib*, /bin, and toolchain paths are always there
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> read_only_at;  ///< outside -> inside, below the system or `scratch`
  std::vector<std::filesystem::path> scratch;  ///< more private folders like /tmp, which can't be moved or replaced from inside
  std::vector<std::filesystem::path>
      devices;  ///< device nodes that may be used; with them, what a driver needs beside (/sys, memory files)
  std::vector<std::pair<std::filesystem::path, std::filesystem::path>> writable;  ///< outside -> inside
  std::vector<std::pair<std::string, std::string>> environment;                   ///< complete: nothing is inherited
  std::string working_directory = "/tmp";
  std::vector<std::pair<int, int>>
      descriptors;  ///< outside -> inside descriptor numbers to keep open (0, 1, 2 are set by the caller of spawn)
  std::int64_t tmpfs_bytes = std::int64_t{256} << 20;       ///< private /tmp
  std::int64_t memory_limit_bytes = std::int64_t{8} << 30;  ///< watched by polling the tree's resident size; see resource_group
  std::int64_t max_file_bytes = std::int64_t{256} << 20;
  int max_processes = 256;  ///< threads count, too
  bool may_fork = true;     ///< false: threads only, enforced by the seccomp filter
  std::vector<int> cores;   ///< affinity of the tree; empty: all
};

/// A finished command.
struct command_result {
  int exit_status = -1;  ///< exit code, or -signal
  bool timed_out = false;
  bool memory_exceeded = false;
  bool processes_exceeded = false;  ///< more than max_processes
  std::string output;               ///< stdout and stderr together: bounded head and tail
  double wall_s = 0;
};

/// Runs to completion, killing the whole tree at `timeout_s`, over the memory limit, or soon after `stop` was set (interrupted).
/// missing_here when bubblewrap is absent or user namespaces are refused (the message names the remedy); infrastructure when it could not
/// be started.
[[nodiscard]] result<command_result> run_sandboxed(const sandbox_spec& spec, double timeout_s, const std::atomic<bool>* stop = nullptr);

/// Argument vector that starts `spec.command` in the sandbox, and the seccomp program's descriptor it refers to; for long-lived processes
/// (runner_client).
struct sandbox_invocation {
  std::vector<std::string> arguments;
  int seccomp_descriptor = -1;  ///< owned by the caller; becomes descriptor `seccomp_target` in the child
};
[[nodiscard]] result<sandbox_invocation> make_invocation(const sandbox_spec& spec, int seccomp_target);

/// One finding of the self-test.
struct sandbox_check {
  std::string name;
  bool ok = false;
  std::string detail;
};
/// Proves that the sandbox can't read a planted file, reach the network, see other processes, or outlive its parent.
[[nodiscard]] std::vector<sandbox_check> sandbox_self_test();

}  // namespace kernsmith::harness
