#include "backends/harness/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

namespace kernsmith::harness {

namespace {

/// Copies of the child's descriptors are parked from here on, so that no target number is overwritten before it was copied.
constexpr int parked_descriptor_base = 64;

/// Runs closures on one thread that ends with the process. Never destroyed: a detached thread must not outlive its queue.
class spawner_thread {
 public:
  static spawner_thread& instance() {
    static spawner_thread* const one = new spawner_thread;
    return *one;
  }

  void run(std::function<void()> work) {
    std::packaged_task<void()> task(std::move(work));
    std::future<void> done = task.get_future();
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    wake_.notify_one();
    done.get();
  }

 private:
  spawner_thread() {
    // The thread must never be the one that handles the program's signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { serve(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void serve() {
    for (;;) {
      std::packaged_task<void()> task;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<void()>> tasks_;
};

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

int spawn_here(const spawn_request& request, const std::vector<descriptor>& parked, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  int highest = -1;
  for (std::size_t i = 0; i < parked.size(); ++i) {
    posix_spawn_file_actions_adddup2(&actions, parked[i].get(), request.descriptors[i].second);
    highest = std::max(highest, request.descriptors[i].second);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, highest + 1);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const std::vector<char*> arguments = pointers_to(request.arguments);
  const std::vector<char*> environment = pointers_to(request.environment);
  const int status = posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

}  // namespace

void descriptor::reset() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

result<child> spawn(const spawn_request& request) {
  std::vector<descriptor> parked;
  for (const auto& [outside, inside] : request.descriptors) {
    const int copy = ::fcntl(outside, F_DUPFD_CLOEXEC, parked_descriptor_base + static_cast<int>(request.descriptors.size()));
    if (copy < 0) return fail(fault::infrastructure, errno_text(fmt::format("copying descriptor {} for a child process", outside), errno));
    parked.emplace_back(copy);
  }
  pid_t pid = -1;
  int status = 0;
  int pidfd = -1;
  int pidfd_errno = 0;
  spawner_thread::instance().run([&] {
    status = spawn_here(request, parked, pid);
    if (status != 0) return;
    pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));  // close-on-exec by definition
    pidfd_errno = errno;
  });
  if (status != 0) return fail(fault::infrastructure, errno_text("starting " + request.arguments.front(), status));
  if (pidfd < 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail(fault::infrastructure, errno_text("opening a pidfd of " + request.arguments.front(), pidfd_errno));
  }
  return child{pid, descriptor(pidfd)};
}

bool wait_readable(int number, double timeout_s) {
  const double deadline = monotonic_s() + timeout_s;
  for (;;) {
    const double left = std::max(0.0, deadline - monotonic_s());
    timespec wait{};
    wait.tv_sec = static_cast<time_t>(left);
    wait.tv_nsec = static_cast<long>((left - std::floor(left)) * 1e9);
    pollfd entry{number, POLLIN, 0};
    const int ready = ::ppoll(&entry, 1, &wait, nullptr);
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

std::optional<int> wait_for(const child& process, double timeout_s) {
  if (!wait_readable(process.pidfd.get(), timeout_s)) return std::nullopt;
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(process.pidfd.get()), &info, WEXITED) != 0) {
    if (errno != EINTR) return -SIGKILL;  // reaped by somebody else: how it ended is not known
  }
  return info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
}

double monotonic_s() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::string errno_text(const std::string& what, int number) {
  return fmt::format("{}: {}", what, std::generic_category().message(number));
}

}  // namespace kernsmith::harness
