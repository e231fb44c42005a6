#include "backends/harness/runner/renewal.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "backends/harness/runner/channel.hpp"

namespace kernsmith::runner {

namespace {

void nothing(int) {}

/// SIGCHLD comes only while requests are waited for.
class child_signal {
 public:
  child_signal() {
    struct sigaction action {};
    action.sa_handler = nothing;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGCHLD, &action, &action_before_);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &child, &mask_before_);
  }
  /// As it was before: for processes that serve.
  void restore() const {
    ::sigaction(SIGCHLD, &action_before_, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  /// True when there is a request, or nobody left to make one.
  [[nodiscard]] bool await_request() const {
    pollfd waiting{wire::control_descriptor, POLLIN, 0};
    return ::ppoll(&waiting, 1, nullptr, &mask_before_) > 0;
  }

 private:
  struct sigaction action_before_ {};
  sigset_t mask_before_{};
};

[[noreturn]] void end_as(int status) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(number, SIG_DFL);
  ::raise(number);
  ::_exit(128 + number);
}

void end_process(int pid) {
  ::kill(pid, SIGKILL);
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

void become_renewed(const std::function<int()>& fork) {
  const child_signal signal;
  int serving = 0;
  for (;;) {
    int status = 0;
    if (serving > 0 && ::waitpid(serving, &status, WNOHANG) == serving) end_as(status);
    if (!signal.await_request()) continue;
    const message request = receive();
    if (request.header.kind != wire::request_kind::renew || request.descriptor < 0)
      give_up(wire::answer_kind::broken, "a first process was asked for something else");
    if (serving > 0) end_process(serving);
    serving = fork();
    if (serving < 0) give_up(wire::answer_kind::broken, "the system refuses another process", errno);
    if (serving == 0) {
      ::dup2(request.descriptor, wire::control_descriptor);
      ::close(request.descriptor);
      signal.restore();
      return;
    }
    ::close(request.descriptor);
  }
}

}  // namespace kernsmith::runner
