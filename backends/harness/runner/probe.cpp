#include "backends/harness/runner/probe.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "backends/harness/probe_codes.hpp"

extern char** environ;

namespace kernsmith::runner {

namespace {

using harness::probe_reached;
using harness::probe_refused;

int verdict(bool reached) {
  return reached ? probe_reached : probe_refused;
}

int read_file(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  char byte = 0;
  return verdict(file >= 0 && ::read(file, &byte, 1) == 1);
}

int write_file(const char* path) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  return verdict(file >= 0 && ::write(file, "x", 1) == 1);
}

int connect_to(const char* port) {
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return verdict(connection >= 0 && ::connect(connection, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0);
}

/// Reached when /proc lists more than bubblewrap's process 1 and this one, or the given outside process can be signalled.
int see_processes(const char* outside_pid) {
  int seen = 0;
  if (DIR* const directory = ::opendir("/proc")) {
    while (const dirent* entry = ::readdir(directory)) seen += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
    ::closedir(directory);
  }
  if (seen == 0) return 1;  // looked at nothing
  return verdict(seen > 2 || ::kill(std::atoi(outside_pid), 0) == 0);
}

/// Reached when any of the calls is answered by anything but a refusal.
int make_forbidden_calls() {
  const long answers[] = {
      ::syscall(SYS_ptrace, 0, 0, nullptr, nullptr),
      ::syscall(SYS_unshare, CLONE_NEWUSER),
      ::syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, nullptr),
      ::syscall(SYS_keyctl, 0, -3, 0, 0, 0),
      ::syscall(SYS_bpf, 0, nullptr, 0),
      ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0),
      ::syscall(SYS_userfaultfd, 0),
      ::syscall(SYS_io_uring_setup, 1, nullptr),
      ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr),
      ::syscall(SYS_process_vm_readv, 1, nullptr, 0, nullptr, 0, 0),
  };
  for (const long answer : answers) {
    if (answer != -1 || errno != EPERM) return probe_reached;
  }
  return probe_refused;
}

int see_environment(const char* forbidden_prefix) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, forbidden_prefix, std::strlen(forbidden_prefix)) == 0) return probe_reached;
  }
  return probe_refused;
}

/// Leaves a grandchild in a session of its own that ignores every signal and holds the output pipe; it says a byte when it is there.
int linger() {
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child > 0) {
    for (;;) ::pause();
  }
  ::setsid();
  if (::fork() != 0) ::_exit(0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
  (void)!::write(STDOUT_FILENO, "r", 1);
  for (;;) ::pause();
}

/// Runs outside the sandbox: starts the rest of the arguments as its child and dies when its input ends, without a word to the child.
int abandon(char** command) {
  const pid_t child = ::fork();
  if (child < 0) return 1;
  if (child == 0) {
    ::execv(command[0], command);
    ::_exit(127);
  }
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  ::kill(::getpid(), SIGKILL);
  return 1;
}

}  // namespace

int run_probe(int argc, char** argv) {
  const std::string_view name = argc > 2 ? argv[2] : "";
  const char* const argument = argc > 3 ? argv[3] : "";
  if (name == "read") return read_file(argument);
  if (name == "write") return write_file(argument);
  if (name == "connect") return connect_to(argument);
  if (name == "processes") return see_processes(argument);
  if (name == "calls") return make_forbidden_calls();
  if (name == "environment") return see_environment(argument);
  if (name == "linger") return linger();
  if (name == "abandon" && argc > 3) return abandon(argv + 3);
  return 2;
}

}  // namespace kernsmith::runner
