#include "backends/harness/sandbox.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "backends/harness/bounded_output.hpp"
#include "backends/harness/sandbox_process.hpp"
#include "backends/harness/seccomp_filter.hpp"

namespace kernsmith::harness {

namespace fs = std::filesystem;

namespace {

/// How often a running tree's memory and processes are counted.
constexpr double usage_poll_s = 0.05;
/// Shared memory files of sandboxed programs (/dev/shm).
constexpr std::int64_t max_dev_shm_bytes = std::int64_t{64} << 20;
/// Nobody: files that an unmapped user owns look like this inside anyway.
constexpr std::string_view inside_user = "65534";

/// Bubblewrap itself: the first on the path, else where distributions put it.
std::optional<fs::path> find_bubblewrap() {
  std::string path = "/usr/bin:/bin:/usr/local/bin";
  if (const char* set = std::getenv("PATH"); set != nullptr && *set != '\0') path = std::string(set) + ":" + path;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const fs::path candidate = fs::path(path.substr(begin, end - begin)) / "bwrap";
    if (candidate.is_absolute() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return std::nullopt;
}

void add(std::vector<std::string>& arguments, std::initializer_list<std::string> more) {
  arguments.insert(arguments.end(), more);
}

/// The system's programs and libraries as they are here: a directory is bound, a link (Debian's /lib -> usr/lib) stays a link.
void add_system(std::vector<std::string>& arguments) {
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::error_code ignored;
    if (fs::is_symlink(path, ignored)) {
      add(arguments, {"--symlink", fs::read_symlink(path, ignored).string(), path});
    } else if (fs::is_directory(path, ignored)) {
      add(arguments, {"--ro-bind", path, path});
    }
  }
  for (const char* path : {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/sys/devices/system/cpu"}) {
    add(arguments, {"--ro-bind-try", path, path});
  }
}

bool mentions_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

error setup_error(const std::string& said) {
  const std::string words = said.empty() ? "it ended without a word" : one_line(said);
  if (mentions_any(said, {"namespace", "uid map", "gid map", "Can't mount proc", "pivot_root", "Operation not permitted", "RTM_NEWADDR"})) {
    return {
        fault::missing_here,
        fmt::format(
            "the sandbox can't be set up: bubblewrap says: {}. Kernsmith runs nothing without it. Allow user namespaces here: as root "
            "'sysctl -w user.max_user_namespaces=15000', on Debian 'sysctl -w kernel.unprivileged_userns_clone=1', on Ubuntu 'sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0'; in a container, start it with '--security-opt seccomp=unconfined "
            "--security-opt "
            "systempaths=unconfined'",
            words)};
  }
  return {fault::infrastructure, fmt::format("the sandbox could not be set up: bubblewrap says: {}", words)};
}

result<sandbox_invocation> make_invocation(const sandbox_spec& spec, int seccomp_target) {
  static const std::optional<fs::path> bubblewrap = find_bubblewrap();
  if (!bubblewrap) {
    return fail(fault::missing_here,
                "bubblewrap (bwrap) is not installed, and Kernsmith runs no compiler and no kernel outside a sandbox; install it, e.g. "
                "'apt-get install bubblewrap'");
  }
  if (spec.command.empty() || spec.command.front().empty() || spec.command.front().front() != '/') {
    return fail(fault::bug, "a sandboxed command must begin with an absolute path");
  }
  auto filter = seccomp_program(spec.may_fork, !spec.devices.empty());
  if (!filter) return tl::unexpected(filter.error());

  sandbox_invocation made;
  auto& arguments = made.arguments;
  add(arguments,
      {bubblewrap->string(), "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"});
  add(arguments, {"--uid", std::string(inside_user), "--gid", std::string(inside_user), "--hostname", "sandbox", "--cap-drop", "ALL"});
  add(arguments, {"--new-session", "--die-with-parent", "--clearenv"});
  add_system(arguments);
  add(arguments, {"--proc", "/proc", "--dev", "/dev", "--size", std::to_string(max_dev_shm_bytes), "--tmpfs", "/dev/shm"});
  add(arguments, {"--size", std::to_string(spec.tmpfs_bytes), "--tmpfs", "/tmp"});
  for (const fs::path& path : spec.devices) add(arguments, {"--dev-bind", path.string(), path.string()});
  if (!spec.devices.empty()) add(arguments, {"--ro-bind", "/sys", "/sys"});
  // Out of a bundle on an old system, the runner brings its own run-time libraries (scripts/bundle-launcher).
  if (const char* bundle = std::getenv("KERNSMITH_BUNDLE"); bundle != nullptr && *bundle == '/')
    add(arguments, {"--ro-bind", bundle, bundle});
  for (const fs::path& path : spec.read_only) add(arguments, {"--ro-bind", path.string(), path.string()});
  for (const fs::path& path : spec.scratch) add(arguments, {"--size", std::to_string(spec.tmpfs_bytes), "--tmpfs", path.string()});
  for (const auto& [outside, inside] : spec.read_only_at) add(arguments, {"--ro-bind", outside.string(), inside.string()});
  for (const auto& [outside, inside] : spec.writable) add(arguments, {"--bind", outside.string(), inside.string()});
  // The root and /dev are memory file systems of their own, without a size limit: nothing may be written there.
  add(arguments, {"--remount-ro", "/dev", "--remount-ro", "/"});
  for (const auto& [name, value] : spec.environment) add(arguments, {"--setenv", name, value});
  add(arguments, {"--chdir", spec.working_directory, "--seccomp", std::to_string(seccomp_target), "--"});
  arguments.insert(arguments.end(), spec.command.begin(), spec.command.end());
  made.seccomp_descriptor = ::fcntl(filter->get(), F_DUPFD_CLOEXEC, 3);
  if (made.seccomp_descriptor < 0) return fail(fault::infrastructure, errno_text("keeping the seccomp filter", errno));
  return made;
}

result<command_result> run_sandboxed(const sandbox_spec& spec, double timeout_s, const std::atomic<bool>* stop) {
  const double begin = monotonic_s();
  auto started = sandbox_process::start(spec);
  if (!started) return tl::unexpected(started.error());
  sandbox_process& tree = **started;
  command_result done;
  bounded_output output;
  const double deadline = begin + timeout_s;
  double next_look = monotonic_s() + usage_poll_s;
  bool writing = true;
  while (!tree.wait(0)) {
    const double now = monotonic_s();
    if (now >= deadline) {
      done.timed_out = true;
      tree.kill_tree();
      break;
    }
    if (stop != nullptr && stop->load()) {
      tree.kill_tree();
      return fail(fault::interrupted, fmt::format("stopped while {} ran", spec.command.front()));
    }
    if (now >= next_look) {
      const tree_usage usage = tree.usage(spec.max_processes);
      if (usage.resident_bytes > spec.memory_limit_bytes || usage.processes > spec.max_processes || usage.threads > spec.max_processes) {
        done.memory_exceeded = usage.resident_bytes > spec.memory_limit_bytes;
        done.processes_exceeded = !done.memory_exceeded;
        tree.kill_tree();
        break;
      }
      next_look = monotonic_s() + usage_poll_s;
    }
    std::array<pollfd, 2> waiting{{{tree.exit_descriptor(), POLLIN, 0}, {writing ? tree.output() : -1, POLLIN, 0}}};
    const double wait_s = std::clamp(std::min(deadline, next_look) - now, 0.0, usage_poll_s);
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(wait_s * 1e3) + 1) < 0 && errno != EINTR) {
      return fail(fault::infrastructure, errno_text("waiting for a sandboxed command", errno));
    }
    if (writing && waiting[1].revents != 0) writing = output.drain(tree.output());
  }
  const auto end = tree.wait(kill_timeout_s);
  tree.kill_tree();  // what the command left behind goes with it, and its output ends
  while (output.drain(tree.output()) && wait_readable(tree.output(), 0)) {
  }
  done.output = output.text();
  done.wall_s = monotonic_s() - begin;
  if (!end) return fail(fault::infrastructure, "a sandboxed command could not be killed");
  if (!end->set_up) return tl::unexpected(setup_error(done.output));
  done.exit_status = end->exit_status;
  return done;
}

}  // namespace kernsmith::harness
