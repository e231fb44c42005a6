#include "backends/harness/sandbox_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "backends/harness/bounded_output.hpp"

namespace kernsmith::harness {

namespace {

// The child's descriptor numbers: 0-2 are the standard ones, then ours, then those of the specification.
constexpr int seccomp_target = 3;
constexpr int status_target = 4;
constexpr int block_target = 5;

constexpr rlim_t max_open_files = 512;
/// The usual stack, whatever the user's shell says: an endless recursion ends soon. Compilers raise theirs up to the second.
constexpr rlim_t stack_bytes = rlim_t{8} << 20;
constexpr rlim_t max_stack_bytes = rlim_t{64} << 20;
constexpr std::size_t max_status_bytes = 4096;
/// For the parent half of bubblewrap to follow the half inside.
constexpr double given_up_timeout_s = 2;

struct pipe_pair {
  descriptor read, write;
};

result<pipe_pair> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(fault::infrastructure, errno_text("making a pipe", errno));
  return pipe_pair{descriptor(ends[0]), descriptor(ends[1])};
}

/// A pipe by another name: writing to one whose reader is gone must not raise SIGPIPE in this process.
result<pipe_pair> make_gate() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(fault::infrastructure, errno_text("making a socket pair", errno));
  return pipe_pair{descriptor(ends[0]), descriptor(ends[1])};
}

/// Limits and placement of a process that waits at the start line; all that it starts inherits them.
result<void> confine(int pid, const sandbox_spec& spec) {
  const auto limit = [pid](__rlimit_resource what, rlim_t soft, rlim_t hard) {
    rlimit before{};
    if (::prlimit(pid, what, nullptr, &before) != 0) return false;
    const rlimit wanted{std::min(soft, before.rlim_max), std::min(hard, before.rlim_max)};  // RLIM_INFINITY is the largest value
    return ::prlimit(pid, what, &wanted, nullptr) == 0;
  };
  const auto file_bytes = static_cast<rlim_t>(spec.max_file_bytes);
  const auto processes = static_cast<rlim_t>(spec.max_processes);
  if (!limit(RLIMIT_CORE, 0, 0) || !limit(RLIMIT_FSIZE, file_bytes, file_bytes) || !limit(RLIMIT_NOFILE, max_open_files, max_open_files) ||
      !limit(RLIMIT_NPROC, processes, processes) || !limit(RLIMIT_MEMLOCK, 0, 0) || !limit(RLIMIT_MSGQUEUE, 0, 0) ||
      !limit(RLIMIT_STACK, stack_bytes, max_stack_bytes)) {
    return fail(fault::infrastructure, errno_text("setting the limits of a sandboxed process", errno));
  }
  if (!spec.cores.empty()) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    for (const int core : spec.cores) {
      if (core < 0 || core >= CPU_SETSIZE)
        return fail(fault::bad_request, fmt::format("core {} is not a CPU number below {}", core, CPU_SETSIZE));
      CPU_SET(static_cast<std::size_t>(core), &cores);
    }
    if (::sched_setaffinity(pid, sizeof cores, &cores) != 0) {
      return fail(fault::missing_here,
                  errno_text("placing a sandboxed process on its cores (are they all online and allowed here?)", errno));
    }
  }
  // When the machine runs out of memory, this tree goes first. A plain user may be refused; the polled limit stands anyway.
  std::ofstream(fmt::format("/proc/{}/oom_score_adj", pid)) << "1000";
  return {};
}

/// The numbers in a small file of /proc; none when it is gone.
std::vector<int> numbers_in_file(const std::string& path) {
  std::vector<int> numbers;
  const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open()) return numbers;
  std::string text;
  std::array<char, 4096> chunk;
  for (ssize_t got = 0; (got = ::read(file.get(), chunk.data(), chunk.size())) > 0;)
    text.append(chunk.data(), static_cast<std::size_t>(got));
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec == std::errc()) numbers.push_back(number);
    at = parsed.ptr + 1;
  }
  return numbers;
}

std::vector<int> numbers_in_directory(const std::string& path) {
  std::vector<int> numbers;
  DIR* const directory = ::opendir(path.c_str());
  if (directory == nullptr) return numbers;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) numbers.push_back(number);
  }
  ::closedir(directory);
  return numbers;
}

/// Adds the resident size of one process; one that has just ended counts nothing.
void add_usage(int pid, tree_usage& total) {
  const std::vector<int> pages = numbers_in_file(fmt::format("/proc/{}/statm", pid));  // size, resident, shared, ...
  if (pages.size() < 3) return;
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  total.resident_bytes += pages[1] * page;
  total.shared_bytes += pages[2] * page;
  ++total.processes;
}

/// The number after "key" in bubblewrap's status text.
std::optional<int> status_number(const std::string& text, const std::string& key) {
  const std::size_t at = text.find('"' + key + '"');
  if (at == std::string::npos) return std::nullopt;
  const std::size_t colon = text.find(':', at);
  if (colon == std::string::npos) return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text.c_str() + colon + 1, &end, 10);
  if (end == text.c_str() + colon + 1 || *end == '\0') return std::nullopt;  // cut in the middle of the number
  return static_cast<int>(value);
}

}  // namespace

result<std::unique_ptr<sandbox_process>> sandbox_process::start(const sandbox_spec& spec) {
  auto output = make_pipe(), status = make_pipe(), block = make_gate();
  for (const auto* pair : {&output, &status, &block}) {
    if (!*pair) return tl::unexpected(pair->error());
  }
  sandbox_spec shifted = spec;
  for (auto& [outside, inside] : shifted.descriptors) {
    if (inside <= block_target) return fail(fault::bug, fmt::format("descriptor {} of a sandboxed process is taken", inside));
  }
  auto invocation = make_invocation(shifted, seccomp_target);
  if (!invocation) return tl::unexpected(invocation.error());
  const descriptor seccomp(invocation->seccomp_descriptor);
  auto& arguments = invocation->arguments;
  const std::array<std::string, 4> ours = {"--json-status-fd", std::to_string(status_target), "--block-fd", std::to_string(block_target)};
  arguments.insert(arguments.begin() + 1, ours.begin(), ours.end());
  const descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.open()) return fail(fault::infrastructure, errno_text("opening /dev/null", errno));

  spawn_request request;
  request.arguments = std::move(arguments);
  request.descriptors = {{null.get(), 0},
                         {output->write.get(), 1},
                         {output->write.get(), 2},
                         {seccomp.get(), seccomp_target},
                         {status->write.get(), status_target},
                         {block->read.get(), block_target}};
  request.descriptors.insert(request.descriptors.end(), spec.descriptors.begin(), spec.descriptors.end());
  auto monitor = spawn(request);
  if (!monitor) return tl::unexpected(monitor.error());
  output->write.reset();
  status->write.reset();
  block->read.reset();
  ::fcntl(output->read.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(status->read.get(), F_SETFL, O_NONBLOCK);

  std::unique_ptr<sandbox_process> made(new sandbox_process);
  made->monitor_ = std::move(*monitor);
  made->output_ = std::move(output->read);
  made->status_ = std::move(status->read);
  if (auto ready = made->await_init(); !ready) return tl::unexpected(ready.error());
  if (auto confined = confine(made->init_pid_, spec); !confined) {
    // Bubblewrap may have given up before the start line; then its own words are the reason.
    const auto end = confined.error().kind == fault::infrastructure ? made->wait(given_up_timeout_s) : std::nullopt;
    if (!end || end->set_up) return tl::unexpected(confined.error());
    bounded_output said;
    said.drain(made->output_.get());
    return tl::unexpected(setup_error(said.text()));
  }
  made->group_ = resource_group::impose(made->init_pid_, {spec.max_processes, spec.memory_limit_bytes, spec.cores});
  const char go = 1;
  if (::send(block->write.get(), &go, 1, MSG_NOSIGNAL) != 1 && errno != EPIPE) {  // EPIPE: it died meanwhile; wait() tells
    return fail(fault::infrastructure, errno_text("releasing a sandboxed process", errno));
  }
  return made;
}

/// Waits until bubblewrap has named process 1 of the namespace.
result<void> sandbox_process::await_init() {
  const double deadline = monotonic_s() + sandbox_setup_timeout_s;
  for (;;) {
    if (!wait_readable(status_.get(), deadline - monotonic_s()))
      return fail(fault::infrastructure, "bubblewrap did not set the sandbox up in time");
    const bool more = read_status();
    if (const auto pid = status_number(status_text_, "child-pid")) {
      init_pid_ = *pid;
      init_pidfd_ = descriptor(static_cast<int>(::syscall(SYS_pidfd_open, init_pid_, 0)));
      return {};
    }
    if (more) continue;
    (void)wait(kill_timeout_s);
    bounded_output said;
    said.drain(output_.get());
    return tl::unexpected(setup_error(said.text()));
  }
}

/// Takes what bubblewrap reported so far. False at the end of its reports.
bool sandbox_process::read_status() {
  std::array<char, 512> chunk;
  for (;;) {
    const ssize_t got = ::read(status_.get(), chunk.data(), chunk.size());
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    status_text_.append(chunk.data(), static_cast<std::size_t>(got));
    if (status_text_.size() > max_status_bytes) return false;
  }
}

std::optional<tree_end> sandbox_process::wait(double timeout_s) {
  if (end_) return end_;
  const auto status = wait_for(monitor_, timeout_s);
  if (!status) return std::nullopt;
  read_status();
  tree_end end;
  // Bubblewrap reports the command's exit code only when it got as far as starting it; its own failures end with 1 as well.
  const auto reported = status_number(status_text_, "exit-code");
  end.set_up = reported.has_value() || killed_;
  const int code = reported.value_or(*status);
  end.exit_status = code > 128 ? 128 - code : code;
  end_ = end;
  return end_;
}

void sandbox_process::kill_tree() {
  if (init_pidfd_.open()) ::syscall(SYS_pidfd_send_signal, init_pidfd_.get(), SIGKILL, nullptr, 0);
  if (!end_) {
    killed_ = true;
    ::syscall(SYS_pidfd_send_signal, monitor_.pidfd.get(), SIGKILL, nullptr, 0);
    (void)wait(kill_timeout_s);
  }
  // Process 1 is gone only after the kernel has ended everything else in its namespace.
  if (init_pidfd_.open()) (void)wait_readable(init_pidfd_.get(), kill_timeout_s);
}

sandbox_process::~sandbox_process() {
  if (monitor_.pidfd.open()) kill_tree();
}

tree_usage sandbox_process::usage(int max_processes) const {
  tree_usage total;
  std::vector<int> open{init_pid_};
  while (!open.empty() && total.processes <= max_processes) {
    const int pid = open.back();
    open.pop_back();
    add_usage(pid, total);
    for (const int thread : numbers_in_directory(fmt::format("/proc/{}/task", pid))) {
      ++total.threads;
      for (const int next : numbers_in_file(fmt::format("/proc/{}/task/{}/children", pid, thread))) open.push_back(next);
    }
  }
  return total;
}

std::optional<int> only_child(int pid) {
  const std::vector<int> children = numbers_in_file(fmt::format("/proc/{}/task/{}/children", pid, pid));
  if (children.empty()) return std::nullopt;
  return children.front();
}

std::optional<int> sandbox_process::command_pid() const {
  return only_child(init_pid_);
}

}  // namespace kernsmith::harness
