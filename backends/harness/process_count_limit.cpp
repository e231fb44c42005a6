#include "backends/harness/process_count_limit.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

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
/// Room above the limit, so that counting sees it exceeded and can say so, instead of a tree that only meets failing forks.
constexpr int slack_tasks = 16;
/// A group is busy until its last task has been buried; that is the kernel's doing and short.
constexpr int removal_attempts = 50;
constexpr double removal_pause_s = 0.002;

/// Where a group may be made: beside us in a version 1 hierarchy, under the root of a version 2 one (below, groups with processes may not
/// hand controllers on).
fs::path find_base() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = ',' + line.substr(first + 1, second - first - 1) + ',';
    if (controllers.find(",pids,") == std::string::npos) continue;
    for (const fs::path& base : {fs::path("/sys/fs/cgroup/pids" + line.substr(second + 1)), fs::path("/sys/fs/cgroup/pids")}) {
      if (::access(base.c_str(), W_OK) == 0) return base;
    }
  }
  std::string controller;
  for (std::ifstream handed_on("/sys/fs/cgroup/cgroup.subtree_control"); handed_on >> controller;) {
    if (controller == "pids" && ::access("/sys/fs/cgroup", W_OK) == 0) return "/sys/fs/cgroup";
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

bool write_number(const fs::path& path, int number) {
  const descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(number);
  return file.open() && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

std::unique_ptr<process_count_limit> process_count_limit::impose(int pid, int max_processes) {
  static const fs::path base = [] {
    fs::path found = find_base();
    if (!found.empty()) remove_abandoned(found);
    return found;
  }();
  static std::atomic<unsigned> next{0};
  if (base.empty()) return nullptr;
  const fs::path group = base / fmt::format("{}{}-{}", group_prefix, ::getpid(), next++);
  if (::mkdir(group.c_str(), 0755) != 0) return nullptr;
  std::unique_ptr<process_count_limit> made(new process_count_limit(group));
  if (!write_number(group / "pids.max", max_processes + slack_tasks) || !write_number(group / "cgroup.procs", pid)) return nullptr;
  return made;
}

process_count_limit::~process_count_limit() {
  for (int attempt = 0; attempt < removal_attempts; ++attempt) {
    if (::rmdir(group_.c_str()) == 0 || errno != EBUSY) return;
    ::usleep(static_cast<useconds_t>(removal_pause_s * 1e6));
  }
}

}  // namespace kernsmith::harness
