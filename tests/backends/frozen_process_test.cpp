// Stopping a runner at its answer, telling rest from work, and what a process may execute: real processes in the sandbox.
#include "backends/harness/frozen_process.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "kernel_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::harness;
using fixtures::kernel_source;
using fixtures::one_kernel;

namespace {

void wait_ms(int ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

const std::string late_doubling =
    "  std::thread([y, x, n] { usleep(20000); for (long i = 0; i < n; ++i) y[i] = 2 * x[i]; }).detach();\n  return 0;";

}  // namespace

TEST_CASE("a frozen runner writes nothing until it is thawed, and is called as before") {
  const one_kernel kernel(kernel_source(late_doubling, "#include <thread>\n"));
  REQUIRE(kernel.call().status == call_status::ok);
  REQUIRE(kernel.client->freeze());
  wait_ms(100);
  CHECK_FALSE(kernel.doubled());
  CHECK(kernel.client->stayed_frozen());
  CHECK(kernel.client->settle(0));  // nothing moves
  kernel.client->thaw();
  wait_ms(100);
  CHECK(kernel.doubled());
  REQUIRE(kernel.client->freeze());
  CHECK(kernel.call().status == call_status::ok);  // a call thaws by itself
}

TEST_CASE("a runner that has itself continued is found out") {
  const std::string before = R"(
#include <csignal>
#include <thread>
#include <time.h>
static int at_load = [] {
  signal(SIGCONT, [](int) {});
  sigevent notice{};
  notice.sigev_notify = SIGEV_SIGNAL;
  notice.sigev_signo = SIGCONT;
  timer_t timer{};
  timer_create(CLOCK_MONOTONIC, &notice, &timer);
  itimerspec period{};
  period.it_value.tv_nsec = period.it_interval.tv_nsec = 20000000;
  return timer_settime(timer, 0, &period, nullptr);
}();
)";
  const one_kernel kernel(kernel_source("  static std::thread busy([] { for (volatile long i = 0;; ++i) {} });\n  return 0;", before));
  REQUIRE(kernel.call().status == call_status::ok);
  (void)kernel.client->freeze();
  wait_ms(200);
  CHECK_FALSE(kernel.client->stayed_frozen());
}

TEST_CASE("a runner that is left no processor is waited for, not accused") {
  // Something that outranks it takes its only core for half a second, from before the signal on.
  const one_kernel kernel(
      kernel_source("  static std::thread busy([] { for (volatile long i = 0;; ++i) {} });\n  return 0;", "#include <thread>\n"));
  std::atomic<bool> began{false};
  bool outranks = false;
  const auto take_the_core = [&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(fixtures::allowed_cores(1).front()), &one);
    const sched_param lowest{.sched_priority = 1};
    outranks = ::sched_setaffinity(0, sizeof one, &one) == 0 && ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &lowest) == 0;
    began = true;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    while (outranks && std::chrono::steady_clock::now() < until) {
    }
  };
  for (int attempt = 0; attempt < 3; ++attempt) {
    REQUIRE(kernel.call().status == call_status::ok);
    began = false;
    std::thread greedy(take_the_core);
    while (!began) std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    const bool stopped = kernel.client->freeze();
    const double waited_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    greedy.join();
    MESSAGE("waited " << waited_s << " s for the standstill" << (outranks ? "" : "; real-time scheduling is not permitted here"));
    CHECK(stopped);
    CHECK(kernel.client->stayed_frozen());
  }
}

TEST_CASE("rest is told from work, also between two ticks of the system") {
  const one_kernel spinning(
      kernel_source("  static std::thread busy([] { for (volatile long i = 0;; ++i) {} });\n  return 0;", "#include <thread>\n"));
  REQUIRE(spinning.call().status == call_status::ok);
  for (int look = 0; look < 20; ++look) CHECK_FALSE(spinning.client->settle(0.0005));
  const one_kernel sleeping(kernel_source("  static std::thread idle([] { for (;;) pause(); });\n  return 0;", "#include <thread>\n"));
  REQUIRE(sleeping.call().status == call_status::ok);
  for (int look = 0; look < 20; ++look) CHECK(sleeping.client->settle(1));
}

TEST_CASE("how long a runner goes on between its answer and its standstill") {
  const one_kernel kernel(kernel_source(fixtures::doubling_body));
  std::vector<double> us;
  for (int i = 0; i < 200; ++i) {
    REQUIRE(kernel.call().status == call_status::ok);
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(kernel.client->freeze());
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    CHECK(kernel.client->stayed_frozen());
  }
  std::sort(us.begin(), us.end());
  MESSAGE("us between answer and standstill: median " << us[100] << ", 90th percentile " << us[180]);
  CHECK(us[100] < 20000);
}

TEST_CASE("executable mappings name the library, the runner and the run-time libraries, and nothing else") {
  const one_kernel kernel(kernel_source("  if (omp_get_max_threads() < 1) return 1;\n" + fixtures::doubling_body, "#include <omp.h>\n"));
  REQUIRE(kernel.call().status == call_status::ok);
  const auto mappings = kernel.client->executable_mappings();
  REQUIRE(mappings.size() >= 4);
  const auto has = [&](const char* name) {
    return std::any_of(mappings.begin(), mappings.end(),
                       [&](const executable_mapping& m) { return m.path.find(name) != std::string::npos; });
  };
  CHECK(has("kernsmith-runner"));
  CHECK(has("libc.so"));
  CHECK(has("libgomp"));
  CHECK(std::none_of(mappings.begin(), mappings.end(), [](const executable_mapping& m) { return m.path.empty(); }));
  const one_kernel generating(kernel_source(
      "  return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;", "#include <sys/mman.h>\n"));
  REQUIRE(generating.call().status == call_status::ok);
  const auto more = generating.client->executable_mappings();
  CHECK(std::any_of(more.begin(), more.end(), [](const executable_mapping& m) { return m.path.empty(); }));
}

TEST_CASE("an unknown instruction is a refusal, a trap is a crash") {
  const one_kernel unknown(kernel_source("  asm volatile(\".byte 0x8f, 0xe9, 0x78, 0xc1, 0xc0\" ::: \"xmm0\");\n  return 0;"));
  const call_result lacking = unknown.call();
  CHECK(lacking.status == call_status::refused);
  CHECK(lacking.detail.find("processor") != std::string::npos);
  CHECK_FALSE(unknown.client->alive());
  CHECK(one_kernel(kernel_source("  __builtin_trap();")).call().status == call_status::crashed);
}
