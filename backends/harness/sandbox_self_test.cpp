// The sandbox proving itself: each forbidden thing is really tried inside it, next to the same thing tried where it must work.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "backends/harness/find_runner.hpp"
#include "backends/harness/probe_codes.hpp"
#include "backends/harness/sandbox.hpp"
#include "backends/harness/sandbox_process.hpp"

namespace kernsmith::harness {

namespace fs = std::filesystem;

namespace {

constexpr double probe_timeout_s = 20;
/// From the death of the parent to the end of the last process in the sandbox.
constexpr double orphan_timeout_s = 10;

/// A folder of files that the sandbox must not reach; removed with this object.
class planted_folder {
 public:
  planted_folder() {
    std::string pattern = (fs::temp_directory_path() / "kernsmith-selftest-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
    std::ofstream(path_ / "secret") << "planted\n";
  }
  ~planted_folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  planted_folder(const planted_folder&) = delete;
  planted_folder& operator=(const planted_folder&) = delete;
  [[nodiscard]] fs::path file(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

/// A listening loopback socket of this process.
struct listener {
  descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int port = 0;

  listener() {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 || ::listen(socket.get(), 4) != 0) return;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0) port = ntohs(here.sin_port);
  }
};

sandbox_spec probe_spec(const fs::path& runner, std::vector<std::string> arguments) {
  sandbox_spec spec;
  spec.command = {runner.string(), "probe"};
  spec.command.insert(spec.command.end(), arguments.begin(), arguments.end());
  spec.read_only = {runner};
  return spec;
}

sandbox_check check_code(std::string name, const sandbox_spec& spec, int wanted, const std::string& if_right, const std::string& if_wrong) {
  const auto ran = run_sandboxed(spec, probe_timeout_s);
  if (!ran) return {std::move(name), false, ran.error().message};
  const int other = wanted == probe_refused ? probe_reached : probe_refused;
  if (ran->exit_status == wanted) return {std::move(name), true, if_right};
  if (ran->exit_status == other) return {std::move(name), false, if_wrong};
  return {std::move(name), false,
          fmt::format("the probe did not run to its end: status {}, output: {}", ran->exit_status, ran->output.substr(0, 200))};
}

/// The same probe without a sandbox: if that is refused, too, the refusal inside proves nothing.
bool reachable_outside(const fs::path& runner, const std::vector<std::string>& arguments) {
  spawn_request request;
  request.arguments = {runner.string(), "probe"};
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  const descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  request.descriptors = {{null.get(), 0}, {null.get(), 1}, {null.get(), 2}};
  const auto process = spawn(request);
  if (!process) return false;
  auto status = wait_for(*process, probe_timeout_s);
  if (!status) {
    ::syscall(SYS_pidfd_send_signal, process->pidfd.get(), SIGKILL, nullptr, 0);
    status = wait_for(*process, probe_timeout_s);
  }
  return status == probe_reached;
}

sandbox_check check_refused(std::string name, const fs::path& runner, const std::vector<std::string>& arguments,
                            const std::string& if_right, const std::string& if_wrong) {
  if (!reachable_outside(runner, arguments))
    return {std::move(name), false, "the attempt fails outside the sandbox as well, so it proves nothing"};
  return check_code(std::move(name), probe_spec(runner, arguments), probe_refused, if_right, if_wrong);
}

/// A parent outside dies by SIGKILL while its sandbox holds a grandchild in another session that ignores all signals.
sandbox_check check_orphans(const fs::path& runner) {
  sandbox_check check{"dies with its parent", false, ""};
  constexpr int seccomp_target = 3;
  auto invocation = make_invocation(probe_spec(runner, {"linger"}), seccomp_target);
  if (!invocation) {
    check.detail = invocation.error().message;
    return check;
  }
  const descriptor seccomp(invocation->seccomp_descriptor);
  std::array<int, 2> leash{}, output{};
  if (::pipe2(leash.data(), O_CLOEXEC) != 0 || ::pipe2(output.data(), O_CLOEXEC) != 0) {
    check.detail = errno_text("making a pipe", errno);
    return check;
  }
  descriptor leash_read(leash[0]), leash_write(leash[1]), output_read(output[0]), output_write(output[1]);
  spawn_request request;
  request.arguments = {runner.string(), "probe", "abandon"};
  request.arguments.insert(request.arguments.end(), invocation->arguments.begin(), invocation->arguments.end());
  request.descriptors = {{leash_read.get(), 0}, {output_write.get(), 1}, {output_write.get(), 2}, {seccomp.get(), seccomp_target}};
  const auto parent = spawn(request);
  output_write.reset();
  leash_read.reset();
  if (!parent) {
    check.detail = parent.error().message;
    return check;
  }
  char byte = 0;
  const bool lingering = wait_readable(output_read.get(), probe_timeout_s) && ::read(output_read.get(), &byte, 1) == 1 && byte == 'r';
  leash_write.reset();  // the parent kills itself
  const bool parent_died = wait_for(*parent, probe_timeout_s) == -SIGKILL;
  // The pipe ends when the last process that holds it is gone.
  const bool all_gone = wait_readable(output_read.get(), orphan_timeout_s) && ::read(output_read.get(), &byte, 1) == 0;
  check.ok = lingering && parent_died && all_gone;
  check.detail = check.ok     ? "a grandchild that ignores signals ended with the parent"
                 : !lingering ? "the probe did not start"
                              : "a process inside outlived the parent outside";
  return check;
}

}  // namespace

std::vector<sandbox_check> sandbox_self_test() {
  const auto runner = find_runner();
  if (!runner) return {{"runs a program", false, runner.error().message}};
  const planted_folder planted;
  const listener listening;
  std::vector<sandbox_check> checks;
  const std::string secret = planted.file("secret").string();
  sandbox_spec allowed = probe_spec(*runner, {"read", secret});
  allowed.read_only.push_back(secret);
  checks.push_back(check_code("runs a program", allowed, probe_reached, "a file that was handed in could be read",
                              "a file that was handed in could not be read"));
  if (!checks.back().ok) return checks;
  checks.push_back(check_code("private /tmp", probe_spec(*runner, {"write", "/tmp/kernsmith-probe"}), probe_reached,
                              "its own /tmp can be written", "its own /tmp can't be written"));
  checks.push_back(
      check_refused("no outside files", *runner, {"read", secret}, "a planted file could not be read", "a planted file outside was read"));
  checks.push_back(check_refused("no outside writes", *runner, {"write", planted.file("written").string()},
                                 "nothing outside could be written", "a file outside was written"));
  checks.push_back(check_refused("no network", *runner, {"connect", std::to_string(listening.port)},
                                 "a listening socket of this host could not be reached", "a socket of this host was reached"));
  checks.push_back(check_refused("no other processes", *runner, {"processes", std::to_string(::getpid())},
                                 "only its own processes are there", "processes outside can be seen"));
  checks.push_back(check_refused("no forbidden calls", *runner, {"calls"}, "ptrace, mount, unshare, keyctl, bpf and others are refused",
                                 "a forbidden system call was answered"));
  checks.push_back(check_orphans(*runner));
  return checks;
}

}  // namespace kernsmith::harness
