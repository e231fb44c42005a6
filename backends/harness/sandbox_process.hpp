// One process tree in the sandbox: start, watch, kill. run_sandboxed() and runner_client both stand on it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "backends/harness/process.hpp"
#include "backends/harness/resource_group.hpp"
#include "backends/harness/sandbox.hpp"

namespace kernsmith::harness {

/// How long bubblewrap may take to set its namespaces up, and a killed tree to be gone.
inline constexpr double sandbox_setup_timeout_s = 20;
inline constexpr double kill_timeout_s = 10;

/// How a tree ended.
struct tree_end {
  int exit_status = 0;  ///< of the command: exit code, or -signal
  bool set_up = true;   ///< false: bubblewrap ended without having started the command
};

struct tree_usage {
  std::int64_t resident_bytes = 0;  ///< sum over the processes; pages shared among them count in each
  std::int64_t shared_bytes = 0;    ///< the part of it that is file or shared memory
  int processes = 0;
  int threads = 0;
};

/// The tree dies with this object and with this process. Not thread-safe.
class sandbox_process {
 public:
  /// Starts `spec.command` with stdin from /dev/null and stdout and stderr in one pipe. missing_here without bubblewrap.
  [[nodiscard]] static result<std::unique_ptr<sandbox_process>> start(const sandbox_spec& spec);
  ~sandbox_process();
  sandbox_process(const sandbox_process&) = delete;
  sandbox_process& operator=(const sandbox_process&) = delete;

  [[nodiscard]] int output() const { return output_.get(); }                  ///< non-blocking read end
  [[nodiscard]] int exit_descriptor() const { return monitor_.pidfd.get(); }  ///< readable when the tree has ended
  [[nodiscard]] int init_pid() const { return init_pid_; }                    ///< process 1 of the pid namespace, as seen outside

  /// The end of the tree, waiting for it no longer than `timeout_s`; nothing while it runs.
  [[nodiscard]] std::optional<tree_end> wait(double timeout_s);
  /// SIGKILL to the namespace's process 1, which the kernel follows by killing all in it, however they forked; returns when all are gone.
  void kill_tree();
  /// What the tree uses now; stops counting processes at `max_processes` + 1.
  [[nodiscard]] tree_usage usage(int max_processes) const;
  /// The kernel's own limits on the tree.
  [[nodiscard]] const resource_group& group() const { return *group_; }
  /// Process 1's only child, the command itself, as seen outside; nothing before it was started or after it ended.
  [[nodiscard]] std::optional<int> command_pid() const;

 private:
  sandbox_process() = default;
  [[nodiscard]] result<void> await_init();
  bool read_status();

  std::unique_ptr<resource_group> group_;  ///< removed after the tree is dead (the destructor's body kills it)
  child monitor_;                          ///< bubblewrap outside the namespaces
  descriptor init_pidfd_;
  descriptor output_, status_;
  std::string status_text_;
  int init_pid_ = -1;
  bool killed_ = false;  ///< by us: bubblewrap then has no report to make
  std::optional<tree_end> end_;
};

/// The one child of a single-threaded process, as seen outside; nothing when it has none.
[[nodiscard]] std::optional<int> only_child(int pid);

/// The error for a tree that was never set up; `said` is what bubblewrap printed.
[[nodiscard]] error setup_error(const std::string& said);

}  // namespace kernsmith::harness
