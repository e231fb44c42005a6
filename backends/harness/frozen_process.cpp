#include "backends/harness/frozen_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

namespace kernsmith::harness {

namespace {

/// A sleep of any length takes some 60 us: most processes have stopped before.
constexpr int looks_without_sleep = 8;
constexpr long look_period_ns = 5'000;

/// The state letter in /proc/PID/task/TID/stat stands behind the name, which may itself hold parentheses.
char state_of(const std::string& path) {
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return 'X';  // has ended
  char text[256];
  const ssize_t got = ::read(file.get(), text, sizeof text - 1);
  if (got <= 0) return 'X';
  text[got] = '\0';
  const char* const name_end = std::strrchr(text, ')');
  return name_end != nullptr && name_end + 2 < text + got ? name_end[2] : '?';
}

/// True for a process that has ended: its threads left nothing to look at.
template <class Wanted>
bool all_threads(int pid, Wanted wanted) {
  const std::string tasks = fmt::format("/proc/{}/task", pid);
  DIR* const directory = ::opendir(tasks.c_str());
  if (directory == nullptr) return true;
  bool all = true;
  while (const dirent* entry = all ? ::readdir(directory) : nullptr) {
    if (entry->d_name[0] == '.') continue;
    const char state = state_of(tasks + '/' + entry->d_name + "/stat");
    all = state == 'Z' || state == 'X' || wanted(state);
  }
  ::closedir(directory);
  return all;
}

}  // namespace

bool stands_still(int pid) {
  return all_threads(pid, [](char state) { return state == 'T' || state == 't'; });
}

bool sleeps(int pid) {
  return all_threads(pid, [](char state) { return state != 'R' && state != 'D'; });
}

bool waits_for_system(int pid) {
  return !all_threads(pid, [](char state) { return state != 'D'; });
}

bool stop_process(int pid, const descriptor& pidfd, double timeout_s) {
  if (!pidfd.open() || ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGSTOP, nullptr, 0) != 0) return false;
  return await_stop(pid, timeout_s);
}

bool await_stop(int pid, double timeout_s) {
  const double deadline_s = monotonic_s() + timeout_s;
  for (int looks = 0; !stands_still(pid); ++looks) {
    if (monotonic_s() >= deadline_s) return false;
    if (looks < looks_without_sleep) continue;
    const timespec look{0, look_period_ns};
    ::nanosleep(&look, nullptr);
  }
  return true;
}

void continue_process(const descriptor& pidfd) {
  if (pidfd.open()) ::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGCONT, nullptr, 0);
}

std::vector<executable_mapping> executable_mappings(int pid) {
  std::vector<executable_mapping> found;
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, inode, path;
    fields >> range >> rights >> offset >> device >> inode >> std::ws;
    std::getline(fields, path);
    if (rights.size() < 3 || rights[2] != 'x') continue;
    if (path == "[vdso]" || path == "[vsyscall]") continue;
    if (path.starts_with("[")) path.clear();  // [stack], [heap], [anon:...]
    const executable_mapping one{path};
    if (std::find(found.begin(), found.end(), one) == found.end()) found.push_back(one);
  }
  return found;
}

}  // namespace kernsmith::harness
