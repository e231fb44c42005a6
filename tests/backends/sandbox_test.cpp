#include "backends/harness/sandbox.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "backends/harness/process.hpp"
#include "backends/harness/sandbox_process.hpp"
#include "tests/backends/kernel_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::harness;
using fixtures::temporary_folder;

namespace {

sandbox_spec shell(const std::string& script) {
  sandbox_spec spec;
  spec.command = {"/bin/sh", "-c", script};
  spec.environment = {{"PATH", "/usr/bin:/bin"}};
  return spec;
}

command_result run(const sandbox_spec& spec, double timeout_s = 20) {
  return fixtures::value_of(run_sandboxed(spec, timeout_s));
}

}  // namespace

TEST_CASE("a command's exit status and output come back") {
  const auto ran = run(shell("echo out; echo err >&2; exit 3"));
  CHECK(ran.exit_status == 3);
  CHECK(ran.output == "out\nerr\n");
  CHECK_FALSE(ran.timed_out);
  CHECK_FALSE(ran.memory_exceeded);
  CHECK(run(shell("kill -SEGV $$")).exit_status == -SIGSEGV);
}

TEST_CASE("every check of the self-test holds") {
  const auto checks = sandbox_self_test();
  CHECK(checks.size() == 8);
  for (const sandbox_check& check : checks) {
    INFO(check.name, ": ", check.detail);
    CHECK(check.ok);
  }
}

TEST_CASE("nothing is inherited: environment, descriptors, capabilities, home") {
  const descriptor leaked(::open("/etc/passwd", O_RDONLY));  // not close-on-exec, on purpose
  auto spec = shell(
      "env | grep -v -e ^PWD= -e ^_= ; echo \"fds: $(ls /proc/self/fd | tr '\\n' ' ')\"; grep -e CapEff -e NoNewPrivs -e '^Seccomp:' "
      "/proc/self/status; ls -d /root /home /var 2>&1");
  spec.environment.emplace_back("GIVEN", "1");
  const auto ran = run(spec);
  CHECK(ran.output.find("GIVEN=1") != std::string::npos);
  CHECK(ran.output.find("HOME=") == std::string::npos);
  CHECK(ran.output.find("LOGNAME=") == std::string::npos);
  CHECK(ran.output.find("fds: 0 1 2 3 \n") != std::string::npos);  // 3 is the listing's own
  CHECK(ran.output.find("CapEff:\t0000000000000000") != std::string::npos);
  CHECK(ran.output.find("NoNewPrivs:\t1") != std::string::npos);
  CHECK(ran.output.find("Seccomp:\t2") != std::string::npos);
  CHECK(ran.output.find("No such file") != std::string::npos);
}

TEST_CASE("only what was handed in can be written, and memory file systems are bounded") {
  const temporary_folder folder;
  std::ofstream(folder / "readable") << "hello";
  std::filesystem::create_directory(folder / "out");
  auto spec = shell("cat " + (folder / "readable").string() + "; echo more > /out/file; for p in /x /usr/x /dev/x /etc/x " +
                    (folder / "readable").string() +
                    "; do if echo no > $p; then echo WROTE $p; fi; done 2>/dev/null; head -c 3000000 /dev/zero > /tmp/big || echo full");
  spec.read_only = {folder / "readable"};
  spec.writable = {{folder / "out", "/out"}};
  spec.tmpfs_bytes = 1 << 20;
  const auto ran = run(spec);
  CHECK(ran.output.starts_with("hello"));
  CHECK(ran.output.find("WROTE") == std::string::npos);
  CHECK(ran.output.find("full") != std::string::npos);
  CHECK(std::filesystem::file_size(folder / "out" / "file") == 5);
}

TEST_CASE("a command that ignores signals and leaves sessions behind ends at its time limit") {
  const auto begin = monotonic_s();
  const auto ran = run(
      shell("trap '' TERM INT HUP; (setsid sh -c 'trap \"\" TERM; while :; do sleep 1000; done' &) ; while :; do sleep 1000; done"), 0.3);
  CHECK(ran.timed_out);
  CHECK(monotonic_s() - begin < 10);  // far above what it takes: the shell would stay for good
}

TEST_CASE("a process that ends while its orphans hold the output does not hang the caller") {
  const auto ran = run(shell("(setsid sh -c 'while :; do sleep 1000; done' &); echo done"), 30);
  CHECK_FALSE(ran.timed_out);
  CHECK(ran.exit_status == 0);
  CHECK(ran.output == "done\n");
}

TEST_CASE("memory is limited for the tree as a whole") {
  auto spec = shell("for i in 1 2 3 4; do cat /dev/zero | tail -c 60000000 & done; wait");
  spec.memory_limit_bytes = 100 << 20;
  const auto ran = run(spec, 60);
  CHECK(ran.memory_exceeded);
  CHECK_FALSE(ran.timed_out);
}

TEST_CASE("processes without end are stopped") {
  // Sleepers, not an exploding bomb: where nothing but counting binds root, a test must not take the machine with it.
  auto spec = shell("i=0; while [ $i -lt 3000 ]; do sleep 1000 & i=$((i+1)); done; wait");
  spec.max_processes = 64;
  const auto ran = run(spec, 10);
  // The count stops it, or a limit of the kernel's makes fork fail first (RLIMIT_NPROC for a plain user, a control group for root).
  CHECK((ran.processes_exceeded || ran.timed_out || ran.output.find("fork") != std::string::npos));
  CHECK(ran.wall_s < 60);
}

TEST_CASE("a flood of output keeps its head and tail") {
  const auto ran = run(shell("echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last"), 120);
  CHECK(ran.exit_status == 0);
  CHECK(ran.output.starts_with("first\n"));
  CHECK(ran.output.ends_with("last\n"));
  CHECK(ran.output.find("bytes left out") != std::string::npos);
  CHECK(ran.output.size() < 200000);
}

TEST_CASE("files and core dumps are limited") {
  auto spec = shell("ulimit -c; ulimit -n; head -c 3000000 /dev/zero > /tmp/big; echo $?");
  spec.max_file_bytes = 1 << 20;
  const auto ran = run(spec);
  CHECK(ran.output.starts_with("0\n512\n"));
  CHECK(ran.output.find("\n0\n", 5) == std::string::npos);
}

TEST_CASE("without the right to fork, threads are all there is") {
  auto spec = shell("/bin/true; echo $?");
  spec.may_fork = false;
  const auto ran = run(spec);
  CHECK(ran.output.find("fork") != std::string::npos);
  CHECK(ran.exit_status != 0);
}

TEST_CASE("cores are kept to") {
  auto spec = shell("grep Cpus_allowed_list /proc/self/status");
  spec.cores = fixtures::allowed_cores(1);
  CHECK(run(spec).output == "Cpus_allowed_list:\t" + std::to_string(spec.cores.front()) + "\n");
}

TEST_CASE("where control groups may be made, cores can't be changed from inside, and memory can't be taken behind the watch's back") {
  auto narrow = shell("taskset -cp 0-1023 $$ >/dev/null; grep Cpus_allowed_list /proc/self/status");
  narrow.cores = fixtures::allowed_cores(1);
  const auto bound = fixtures::value_of(sandbox_process::start(narrow));
  if (bound->group().binds_cores())
    CHECK(run(narrow).output == "Cpus_allowed_list:\t" + std::to_string(narrow.cores.front()) + "\n");
  else
    MESSAGE("no cpuset controller to use here");

  // Nobody polls a tree that was only started: what ends it is the kernel's limit, twice the polled one and 1 GiB.
  auto greedy = shell("head -c 3000000000 /dev/zero | tail -c 2900000000 | wc -c");
  greedy.memory_limit_bytes = std::int64_t{64} << 20;
  const auto taken = fixtures::value_of(sandbox_process::start(greedy));
  if (!taken->group().bounds_memory()) {
    MESSAGE("no memory controller to use here");
    return;
  }
  const auto ended = taken->wait(60);
  REQUIRE(ended.has_value());
  std::string said(64, ' ');
  const auto got = ::read(taken->output(), said.data(), said.size());
  CHECK(said.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0))).find("2900000000") == std::string::npos);
}

TEST_CASE("a sandbox that can't be set up is an error, not a result") {
  auto spec = shell("true");
  spec.read_only = {"/nonexistent/kernsmith"};
  const auto ran = run_sandboxed(spec, 10);
  REQUIRE_FALSE(ran.has_value());
  CHECK(ran.error().kind == fault::infrastructure);
  CHECK(ran.error().message.find("/nonexistent/kernsmith") != std::string::npos);
  const error refused = setup_error(
      "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.\n");
  CHECK(refused.kind == fault::missing_here);
  CHECK(refused.message.find("sysctl") != std::string::npos);
}

TEST_CASE("children live on when the thread that asked for them ends") {
  // --die-with-parent follows the spawning thread; spawning from a passing thread must not end the tree with it.
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const descriptor gate(ends[0]);
  descriptor opener(ends[1]);
  auto spec = shell("read line <&6; echo survived");
  spec.descriptors = {{gate.get(), 6}};
  std::unique_ptr<sandbox_process> tree;
  std::thread([&] { tree = fixtures::value_of(sandbox_process::start(spec)); }).join();
  CHECK_FALSE(tree->wait(0.05).has_value());
  opener.reset();
  const auto end = tree->wait(20);
  REQUIRE(end.has_value());
  CHECK(end->set_up);
  std::string said(100, '\0');
  const ssize_t got = ::read(tree->output(), said.data(), said.size());
  CHECK(said.substr(0, got > 0 ? static_cast<std::size_t>(got) : 0) == "survived\n");
}

TEST_CASE("many at once from several threads") {
  std::vector<std::thread> threads;
  std::vector<int> statuses(4, -1);
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    threads.emplace_back([&statuses, i] {
      for (int round = 0; round < 5; ++round) {
        const auto ran = run_sandboxed(shell("exit " + std::to_string(i + 10)), 60);
        statuses[i] = ran ? ran->exit_status : -1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < statuses.size(); ++i) CHECK(statuses[i] == static_cast<int>(i) + 10);
}

TEST_CASE("a command is killed with its whole tree when it is told to stop") {
  std::atomic<bool> stop{false};
  std::thread soon([&] {
    ::usleep(200'000);
    stop = true;
  });
  const auto ran = run_sandboxed(shell("sleep 1000 & sleep 1000"), 600, &stop);
  soon.join();
  REQUIRE_FALSE(ran.has_value());
  CHECK(ran.error().kind == fault::interrupted);
}
