// Runs one test case of this program in a process of its own, so that it can be killed, starved or confined without harm to the others.
// Such a case is a "role": it carries doctest::skip() and runs only when a parent asks for it.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace kernsmith::test {

inline constexpr const char* role_directory_variable = "KERNSMITH_TEST_DIRECTORY";

/// In a role: the directory the parent gave.
inline std::filesystem::path role_directory() {
  const char* value = std::getenv(role_directory_variable);
  if (value == nullptr) throw std::runtime_error("a role was run without its parent");
  return value;
}

class child_process {
 public:
  child_process(const std::string& role, const std::filesystem::path& directory) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    ::setenv(role_directory_variable, directory.c_str(), 1);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    std::string filter = "--test-case=" + role;
    std::string no_skip = "--no-skip";
    std::string no_colors = "--no-colors";
    char* arguments[] = {const_cast<char*>(program.c_str()), filter.data(), no_skip.data(), no_colors.data(), nullptr};
    const int failed = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    if (failed != 0) throw std::runtime_error("posix_spawn");
  }
  ~child_process() {
    if (pid_ > 0) kill();
    ::close(output_);
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// The next line of its output, without the line end; false at the end of output.
  bool read_line(std::string& line) {
    line.clear();
    char c = 0;
    for (;;) {
      const auto got = ::read(output_, &c, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return !line.empty();
      if (c == '\n') return true;
      line.push_back(c);
    }
  }

  /// Skips lines until one begins with `start`; false when none comes.
  bool wait_for_line(const std::string& start) {
    std::string line;
    while (read_line(line)) {
      if (line.starts_with(start)) return true;
    }
    return false;
  }

  [[nodiscard]] std::string rest_of_output() {
    std::string all, line;
    while (read_line(line)) all += line + "\n";
    return all;
  }

  /// SIGKILL, then waits for the end.
  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }

  /// Exit status, or 128 + signal.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

}  // namespace kernsmith::test
