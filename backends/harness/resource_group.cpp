#include "backends/harness/resource_group.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <string>
#include <string_view>

#include "backends/harness/process.hpp"

namespace kernsmith::harness {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view group_prefix = "kernsmith-";
/// Room above the limits, so that the watch sees them exceeded and can say so, instead of a tree that only meets failing forks or is killed
/// without a word.
constexpr int slack_tasks = 16;
constexpr std::int64_t memory_slack_factor = 2, memory_slack_bytes = std::int64_t{1} << 30;
/// A group is busy until its last task has been buried; that is the kernel's doing and short.
constexpr int removal_attempts = 50;
constexpr double removal_pause_s = 0.002;

/// Where groups of a controller may be made, and the name of its limit there.
struct controller {
  fs::path base;  ///< empty: nowhere
  const char* limit_file = "";
};

/// Beside us in a version 1 hierarchy, under the root of a version 2 one (below, groups with processes may not hand controllers on).
controller find_controller(const std::string& name, const char* limit_v1, const char* limit_v2) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    if (controllers.find(',' + name + ',') == std::string::npos) continue;
    const std::string root = "/sys/fs/cgroup/" + name;
    for (const fs::path& base : {fs::path(root + line.substr(second + 1)), fs::path(root)}) {
      if (::access(base.c_str(), W_OK) == 0) return {base, limit_v1};
    }
  }
  std::string handed_on;
  for (std::ifstream stream("/sys/fs/cgroup/cgroup.subtree_control"); stream >> handed_on;) {
    if (handed_on == name && ::access("/sys/fs/cgroup", W_OK) == 0) return {"/sys/fs/cgroup", limit_v2};
  }
  return {};
}

/// Groups that a killed process of ours left are empty: their trees died with it.
void remove_abandoned(const fs::path& base) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(group_prefix)) continue;
    int pid = 0;
    std::from_chars(name.data() + group_prefix.size(), name.data() + name.size(), pid);
    if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
  }
}

controller usable(controller found) {
  if (!found.base.empty()) remove_abandoned(found.base);
  return found;
}

bool write_text(const fs::path& path, const std::string& text) {
  const descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.open() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// A version 1 group has no memory nodes until it is given some; in version 2 it has its parent's.
bool take_memory_nodes(const fs::path& base, const fs::path& group) {
  std::ifstream file(base / "cpuset.mems");
  std::string nodes;
  if (!std::getline(file, nodes) || nodes.empty()) return true;
  return write_text(group / "cpuset.mems", nodes);
}

}  // namespace

std::unique_ptr<resource_group> resource_group::impose(int pid, const group_limits& limits) {
  static const controller counting = usable(find_controller("pids", "pids.max", "pids.max"));
  static const controller memory = usable(find_controller("memory", "memory.limit_in_bytes", "memory.max"));
  static const controller placing = usable(find_controller("cpuset", "cpuset.cpus", "cpuset.cpus"));
  static std::atomic<unsigned> next{0};
  const std::string name = fmt::format("{}{}-{}", group_prefix, ::getpid(), next++);
  std::unique_ptr<resource_group> made(new resource_group);
  // In version 2 all limits stand in one group.
  const auto joined = [&](const controller& c, const std::string& limit, bool has_nodes = false) {
    if (c.base.empty()) return false;
    const fs::path group = c.base / name;
    if (std::find(made->groups_.begin(), made->groups_.end(), group) == made->groups_.end()) {
      if (::mkdir(group.c_str(), 0755) != 0) return false;
      made->groups_.push_back(group);
    }
    if (has_nodes && !take_memory_nodes(c.base, group)) return false;
    return write_text(group / c.limit_file, limit) && write_text(group / "cgroup.procs", std::to_string(pid));
  };
  made->counts_processes_ = joined(counting, std::to_string(limits.max_processes + slack_tasks));
  made->bounds_memory_ = joined(memory, std::to_string(memory_slack_factor * limits.memory_limit_bytes + memory_slack_bytes));
  if (!limits.cores.empty()) made->binds_cores_ = joined(placing, fmt::format("{}", fmt::join(limits.cores, ",")), true);
  return made;
}

resource_group::~resource_group() {
  for (const fs::path& group : groups_) {
    for (int attempt = 0; attempt < removal_attempts; ++attempt) {
      if (::rmdir(group.c_str()) == 0 || errno != EBUSY) break;
      ::usleep(static_cast<useconds_t>(removal_pause_s * 1e6));
    }
  }
}

}  // namespace kernsmith::harness
