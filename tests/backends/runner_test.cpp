#include "backends/harness/runner_client.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "backends/harness/openmp_environment.hpp"
#include "backends/harness/process.hpp"
#include "tests/backends/kernel_fixtures.hpp"

using namespace kernsmith;
using namespace kernsmith::harness;
using fixtures::doubling_body;
using fixtures::kernel_source;
using fixtures::one_kernel;

TEST_CASE("a kernel is called with the tensors, axes, threads and workspace it was promised") {
  const std::string body = R"(
  if (n_in != 1 || n_out != 1 || in[0].rank != 1 || in[0].dtype != KS_F32 || out[0].strides[0] != 1) return 11;
  if (ctx->n_axes != 1 || ctx->axes[0] != n || ctx->threads != 1 || ctx->stream != nullptr) return 12;
  if (ctx->workspace_bytes != (64u << 20) || reinterpret_cast<uintptr_t>(ctx->workspace) % 64 != 0) return 13;
  if (reinterpret_cast<uintptr_t>(x) % 64 != 0 || reinterpret_cast<uintptr_t>(y) % 64 != 0) return 14;
  static_cast<char*>(ctx->workspace)[ctx->workspace_bytes - 1] = 1;
)" + doubling_body;
  for (const guard_side side : {guard_side::after, guard_side::before}) {
    const one_kernel kernel(kernel_source(body), 1003, side);
    const call_result called = kernel.call();
    CHECK(called.detail == "");
    CHECK(called.status == call_status::ok);
    CHECK(kernel.doubled());
    CHECK(called.wall_ns > 0);
    REQUIRE(called.inside_ns.size() == 1);
    CHECK(called.inside_ns[0] <= called.wall_ns);
    CHECK(kernel.client->alive());
  }
}

TEST_CASE("a tensor of several dimensions comes with row-major strides") {
  const auto library =
      fixtures::built(kernel_source("  const ks_tensor& t = in[0];\n  return t.rank == 3 && t.shape[1] == 3 && t.strides[0] == 12 && "
                                    "t.strides[1] == 4 && t.strides[2] == 1 ? 0 : 1;"));
  auto client = fixtures::value_of(runner_client::start(fixtures::options_for(library)));
  const auto buffer = fixtures::value_of(shared_buffer::create("x", 2 * 3 * 4 * 4, guard_side::after));
  const int set = fixtures::value_of(client->add_set(
      {.inputs = {{&buffer, dtype::f32, {2, 3, 4}, false}}, .outputs = {{&buffer, dtype::f32, {2, 3, 4}, true}}, .axes = {}}));
  CHECK(client->call({set}, 20).status == call_status::ok);
}

TEST_CASE("a batch calls its sets in order, under one clock") {
  one_kernel kernel(kernel_source("  static float count = 0; y[0] = ++count; return 0;"));
  const auto more = fixtures::value_of(shared_buffer::create("y2", 4000, guard_side::after));
  const int second = fixtures::value_of(kernel.client->add_set(
      {.inputs = {{&kernel.x, dtype::f32, {1000}, false}}, .outputs = {{&more, dtype::f32, {1000}, true}}, .axes = {}}));
  const call_result called = kernel.client->call({second, kernel.set, second, kernel.set}, 20);
  CHECK(called.status == call_status::ok);
  CHECK(called.inside_ns.size() == 4);
  CHECK(one_kernel::floats(kernel.y)[0] == 4);
  CHECK(one_kernel::floats(more)[0] == 3);
  CHECK(kernel.client->empty_call_ns() > 0);
  CHECK(kernel.client->call({17}, 20).status == call_status::lost);  // the caller's mistake; the runner lives on
  REQUIRE(kernel.client->drop_sets().has_value());
  CHECK(kernel.client->call({0}, 20).status == call_status::lost);
  const int again = fixtures::value_of(kernel.client->add_set(
      {.inputs = {{&kernel.x, dtype::f32, {1000}, false}}, .outputs = {{&kernel.y, dtype::f32, {1000}, true}}, .axes = {}}));
  CHECK(kernel.client->call({again}, 20).status == call_status::ok);
  CHECK(one_kernel::floats(kernel.y)[0] == 5);
}

TEST_CASE("a kernel that refuses a case is told apart and may be called again") {
  const one_kernel kernel(kernel_source("  return n > 5 ? 7 : 0;"));
  const call_result called = kernel.call();
  CHECK(called.status == call_status::refused);
  CHECK(called.detail == "launch returned 7");
  CHECK(kernel.client->alive());
  CHECK(kernel.call().status == call_status::refused);
}

namespace {

struct ending {
  const char* what;
  const char* body;
  call_status status;
  const char* detail;  ///< part of it
};

}  // namespace

TEST_CASE("each way to end has its own word") {
  const ending endings[] = {
      {"null pointer", "  *reinterpret_cast<volatile int*>(n) = 1; return 0;", call_status::crashed, "SIGSEGV at address 0x400"},
      {"abort", "  abort();", call_status::crashed, "SIGABRT"},
      {"exception that leaves launch", "  throw 1;", call_status::crashed, "SIGABRT"},
      {"illegal instruction", "  __builtin_trap();", call_status::crashed, "SIGILL"},
      {"division by zero", "  volatile int zero = 0, many = 100; return many / zero;", call_status::crashed, "SIGFPE"},
      {"stack overflow", "  volatile char frame[1 << 16]; frame[0] = 1; return launch(in, n_in, out, n_out, ctx) + frame[0];",
       call_status::crashed, "SIGSEGV"},
      {"_exit(0)", "  _exit(0);", call_status::exited, "exit code 0"},
      {"exit(3)", "  exit(3);", call_status::exited, "exit code 3"},
      {"quick_exit", "  quick_exit(0);", call_status::exited, "exit code 0"},
      {"one past the end", "  y[n] = 1; return 0;", call_status::out_of_bounds, "0 bytes past the end of a buffer of 4096 bytes"},
      {"read past the end", "  y[0] = x[n + 100]; return 0;", call_status::out_of_bounds, "400 bytes past the end"},
      {"past the workspace", "  static_cast<char*>(ctx->workspace)[ctx->workspace_bytes] = 1; return 0;", call_status::out_of_bounds,
       "0 bytes past the end of the workspace"},
      {"closes its channel", "  for (int i = 0; i < 64; ++i) close(i); for (;;) pause();", call_status::exited,
       "closed its control channel"},
      {"shuts itself down", "  kill(getpid(), SIGKILL); return 0;", call_status::resource_limit, "SIGKILL"},
  };
  for (const ending& one : endings) {
    CAPTURE(one.what);
    const one_kernel kernel(kernel_source(one.body, "#include <csignal>\n"), 1024);
    const call_result called = kernel.call();
    CHECK(called.status == one.status);
    CAPTURE(called.detail);
    CHECK(called.detail.find(one.detail) != std::string::npos);
    CHECK_FALSE(kernel.client->alive());
    CHECK(kernel.call().status == one.status);  // and stays that way
  }
}

TEST_CASE("one before the start, with the guard in front") {
  const one_kernel kernel(kernel_source("  volatile float* before = y; before[-1] = 1; return 0;"), 1000, guard_side::before);
  const call_result called = kernel.call();
  CHECK(called.status == call_status::out_of_bounds);
  CHECK(called.detail.find("4 bytes before the start of a buffer") != std::string::npos);
}

TEST_CASE("a write into the slack stays for the verifier to find") {
  one_kernel kernel(kernel_source("  y[n] = 1; return 0;"), 1000);  // 4000 bytes end 32 bytes before the guard
  kernel.y.fill_slack(3);
  CHECK(kernel.call().status == call_status::ok);
  CHECK_FALSE(kernel.y.slack_intact(3));
}

TEST_CASE("a kernel that never returns is killed with all it started") {
  const one_kernel kernel(kernel_source("  for (;;) pause();",
                                        "#include <csignal>\nstatic int deaf = (signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN), 0);\n"));
  const double begin = monotonic_s();
  const call_result called = kernel.call(0.2);
  CHECK(called.status == call_status::timeout);
  CHECK(monotonic_s() - begin < 10);  // far above what it takes; without the kill it would stay
  CHECK_FALSE(kernel.client->alive());
}

TEST_CASE("a kernel can start threads but no processes") {
  const one_kernel kernel(
      kernel_source("  if (fork() >= 0 || vfork() >= 0) return 1;\n  std::thread other([&] { y[0] = 5; });\n  other.join();\n  return "
                    "system(\"true\") != 0 ? 0 : 2;",
                    "#include <thread>\n"));
  const call_result called = kernel.call();
  CHECK(called.detail == "");
  CHECK(called.status == call_status::ok);
  CHECK(one_kernel::floats(kernel.y)[0] == 5);
}

TEST_CASE("threads without end are a resource limit") {
  const one_kernel kernel(kernel_source(
      "  for (;;) { try { std::thread([] { for (;;) pause(); }).detach(); } catch (...) { usleep(1000); } }", "#include <thread>\n"));
  const call_result called = kernel.call(20);
  // A plain user's limit on processes binds first and the kernel waits for its time limit.
  CHECK((called.status == call_status::resource_limit || (::getuid() != 0 && called.status == call_status::timeout)));
}

TEST_CASE("memory beyond the limit ends the runner; the verifier's own buffers don't count") {
  runner_options limited;
  limited.memory_limit_bytes = 48 << 20;
  const std::string eater =
      kernel_source("  const size_t step = 8u << 20;\n  for (int i = 0; i < 8; ++i) memset(malloc(step), 1, step);\n  for (;;) pause();");
  const one_kernel kernel(eater, 1000, guard_side::after, limited);
  const call_result called = kernel.call();
  CHECK(called.status == call_status::resource_limit);
  CHECK(called.detail.find("limit is 48 MiB") != std::string::npos);

  const one_kernel large(kernel_source("  usleep(120000);\n" + doubling_body), (32 << 20) / 4, guard_side::after, limited);
  CHECK(large.call().status == call_status::ok);
  CHECK(large.call().status == call_status::ok);
}

TEST_CASE("a flood of output costs nothing but the kernel's own time") {
  const one_kernel kernel(
      kernel_source("  static char block[1 << 16]; memset(block, 'z', sizeof block);\n  for (int i = 0; i < 3200; ++i) if (write(i % "
                    "2 + 1, block, sizeof block) < 0) return 1;\n"
                    "  if (write(1, \"the end\", 7) < 0) return 2;\n" +
                    doubling_body));
  const call_result called = kernel.call(120);
  CHECK(called.status == call_status::ok);
  CHECK(kernel.doubled());
  const std::string tail = kernel.client->output_tail();
  CHECK(tail.size() < 200000);
  CHECK(tail.ends_with("the end"));
}

TEST_CASE("files are limited and the sandbox has none of ours") {
  const std::string body = R"(
  FILE* big = fopen("/tmp/big", "w");
  static char block[1 << 20];
  for (int i = 0; i < 200; ++i) if (fwrite(block, 1, sizeof block, big) != sizeof block) return 5;
  return 0;)";
  const one_kernel kernel(kernel_source(body, "#include <stdio.h>\n"));
  const call_result called = kernel.call();
  CHECK((called.status == call_status::refused || called.status == call_status::resource_limit));
  const one_kernel thief(kernel_source("  return fopen(\"/etc/passwd\", \"r\") == nullptr && getenv(\"LOGNAME\") == nullptr ? 0 : 1;",
                                       "#include <stdio.h>\n"));
  CHECK(thief.call().status == call_status::ok);
}

TEST_CASE("a forged answer ends the runner, and one that comes early is never taken for an answer") {
  const std::string forger = R"(
#include <stdio.h>
#include <thread>
static void forge(unsigned long sequence) {
  struct { unsigned kind; int code; unsigned count, reserved; unsigned long sequence, value; double time; } done = {2, 0, 1, 0, sequence, 0, 1};
  for (int fd = 3; fd < 64; ++fd) (void)!write(fd, &done, sizeof done);
}
)";
  // In mid-call, for another question than the one that is open.
  const one_kernel kernel(kernel_source("  forge(99);\n  return 0;", forger));
  const call_result called = kernel.call();
  CHECK(called.status == call_status::exited);
  CHECK(called.detail.find("another question") != std::string::npos);

  // Right for the next question (two buffers, the set and this call make four), but before it was asked: it would stop the clock at once.
  const std::string early = "  static std::thread sender([] { usleep(20000); forge(5); (void)!write(1, \"sent\", 4); });\n  return 0;";
  const one_kernel other(kernel_source(early, forger));
  CHECK(other.call().status == call_status::ok);
  for (long i = 0; i < 100000000 && other.client->output_tail() != "sent"; ++i) {
  }
  CHECK(other.client->output_tail() == "sent");
  const call_result next = other.call();
  CHECK(next.status == call_status::exited);
  CHECK(next.detail.find("another question") != std::string::npos);
}

TEST_CASE("work left behind in a thread shows in the CPU time after the answer") {
  const one_kernel kernel(
      kernel_source("  static std::thread late([y, x, n] { for (volatile long i = 0; i < 200000000; ++i) {} for (long i = 0; i < n; ++i) "
                    "y[i] = 2 * x[i]; });\n  return 0;",
                    "#include <thread>\n"));
  const call_result called = kernel.call();
  REQUIRE(called.status == call_status::ok);
  double grown = 0;
  for (int i = 0; i < 100000000 && grown < 1e6; ++i) grown = kernel.client->cpu_ns() - called.cpu_at_answer_ns;
  CHECK(grown >= 1e6);
}

TEST_CASE("a library that can't be loaded says why") {
  const fixtures::temporary_folder folder;
  std::ofstream(folder / "no.so") << "not a library";
  const auto started = runner_client::start(fixtures::options_for(folder / "no.so"));
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().kind == fault::bad_request);
  CHECK(started.error().message.find("no.so") != std::string::npos);
  const auto missing = runner_client::start(fixtures::options_for(folder / "missing.so"));
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().kind == fault::bad_request);
}

TEST_CASE("a constructor that ends the process or never returns is the candidate's own end") {
  const auto at_load = [](const std::string& statement, double timeout_s) {
    const std::string source =
        kernel_source("  return 0;", "#include <csignal>\nstatic int at_load = [] { " + statement + " return 0; }();\n");
    return fixtures::value_of(runner_client::start(fixtures::options_for(fixtures::built(source), timeout_s)));
  };
  const auto crashed = at_load("raise(SIGSEGV);", 20);
  CHECK_FALSE(crashed->alive());
  CHECK(crashed->add_set({}).has_value());
  CHECK(crashed->call({0}, 1).status == call_status::crashed);
  CHECK(at_load("_exit(0);", 20)->call({}, 1).status == call_status::exited);
  CHECK(at_load("for (;;) pause();", 0.3)->call({}, 1).status == call_status::timeout);
}

TEST_CASE("threads are placed before the library loads") {
  const auto cores = fixtures::allowed_cores(2);
  runner_options placed;
  placed.cores = cores;
  const std::string body =
      "  y[0] = omp_get_max_threads(); y[1] = omp_get_num_places(); y[2] = omp_get_proc_bind();\n#pragma omp parallel\n#pragma omp "
      "critical\n  y[3 + omp_get_thread_num()] = sched_getcpu();\n  return 0;";
  const one_kernel kernel(kernel_source(body, "#include <omp.h>\n#include <sched.h>\n"), 1000, guard_side::after, placed);
  REQUIRE(kernel.call().status == call_status::ok);
  const float* const y = one_kernel::floats(kernel.y);
  CHECK(y[0] == static_cast<float>(cores.size()));
  CHECK(y[1] == static_cast<float>(cores.size()));
  CHECK(y[2] != 0);
  for (std::size_t i = 0; i < cores.size(); ++i) CHECK(y[3 + i] == static_cast<float>(cores[i]));
  const auto environment = openmp_environment({4, 6});
  CHECK(std::find(environment.begin(), environment.end(), std::pair<std::string, std::string>{"OMP_PLACES", "{4},{6}"}) !=
        environment.end());
}

TEST_CASE("the runner dies with its client") {
  const auto children = [] {
    std::string all;
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::ifstream file(thread.path() / "children");
      for (std::string pid; file >> pid;) all += pid + " ";
    }
    return all;
  };
  const std::string before = children();
  {
    const one_kernel kernel(kernel_source("  return 0;"));
    REQUIRE(kernel.call().status == call_status::ok);
    CHECK(kernel.client->cpu_ns() > 0);
    CHECK(children() != before);
  }
  CHECK(children() == before);
}

TEST_CASE("a runner that was begun before its library was known is one like any other") {
  runner_options options;
  options.cores = fixtures::allowed_cores(1);
  auto vacant = fixtures::value_of(vacant_runner::begin(options));
  REQUIRE(vacant.settle());
  REQUIRE(vacant.settle());  // twice is no harm
  const auto client = fixtures::value_of(vacant.load(fixtures::built(fixtures::kernel_source(fixtures::doubling_body))));
  const auto x = fixtures::value_of(shared_buffer::create("x", 400, guard_side::after));
  const auto y = fixtures::value_of(shared_buffer::create("y", 400, guard_side::after));
  for (int i = 0; i < 100; ++i) fixtures::one_kernel::floats(x)[i] = static_cast<float>(i);
  buffer_set tensors;
  tensors.inputs = {{&x, kernsmith::dtype::f32, {100}, false}};
  tensors.outputs = {{&y, kernsmith::dtype::f32, {100}, true}};
  tensors.axes = {100};
  const int set = fixtures::value_of(client->add_set(tensors));
  REQUIRE(client->call({set}, 20).status == call_status::ok);
  CHECK(fixtures::one_kernel::floats(y)[99] == 198);
  REQUIRE(client->freeze());
  CHECK(client->stayed_frozen());
}

TEST_CASE("what can go wrong with a library that comes late") {
  runner_options options;
  options.cores = fixtures::allowed_cores(1);
  {
    auto vacant = fixtures::value_of(vacant_runner::begin(options));
    const auto loaded = vacant.load("/nowhere/kernel.so");
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().kind == kernsmith::fault::bad_request);
  }
  {
    auto vacant = fixtures::value_of(vacant_runner::begin(options));
    const fixtures::temporary_folder folder;
    std::ofstream(folder / "kernel.so") << "no library";
    const auto loaded = vacant.load(folder / "kernel.so");
    REQUIRE_FALSE(loaded);
    CHECK(loaded.error().kind == kernsmith::fault::bad_request);
    CHECK(loaded.error().message.find("kernel.so") != std::string::npos);
  }
  auto vacant = fixtures::value_of(vacant_runner::begin(options));
  const auto client = fixtures::value_of(vacant.load(
      fixtures::built(fixtures::kernel_source(fixtures::doubling_body, "static int at_load = [] { abort(); return 0; }();\n"))));
  CHECK_FALSE(client->alive());
  CHECK(client->call({}, 1).status == call_status::crashed);
}
